#include "kernels/gradient_norm.hpp"

#include "base/contract.hpp"
#include "kernels/launch/launch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

template <class E>
void sum_of_squares(const device::Stream& stream,
                    VectorAddress<const E> gradient,
                    ObjectAddress<ExactSum> into) {
    ZG_EXPECTS(!into.empty());
    launch<sum_of_squares<E>>(stream, gradient, into);
}

template decltype(sum_of_squares<float>) sum_of_squares<float>;
template decltype(sum_of_squares<tensor::bfloat16>) sum_of_squares<tensor::bfloat16>;

}  // namespace ziggurat::kernels
