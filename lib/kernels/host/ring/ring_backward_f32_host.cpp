#include "kernels/host/ring/ring_backward_impl.hpp"

namespace ziggurat::kernels::host {

ZG_REGISTER_HOST_KERNEL(ring_attention_backward<float>);

}  // namespace ziggurat::kernels::host
