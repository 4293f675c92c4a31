#include "kernels/host/ring/ring_backward_impl.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {

ZG_REGISTER_HOST_KERNEL(ring_attention_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::host
