#include "kernels/host/attention_backward_impl.hpp"

namespace ziggurat::kernels::host {

ZG_REGISTER_HOST_KERNEL(attention_backward<float>);

}  // namespace ziggurat::kernels::host
