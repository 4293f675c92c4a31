#include "kernels/gradient_norm.hpp"

#include "base/contract.hpp"
#include "kernels/host/gradient_norm_host.hpp"
#include "kernels/launch.hpp"

namespace ziggurat::kernels {

void sum_of_squares(const device::Stream& stream, std::span<const float> gradient, ExactSum* into) {
    ZG_EXPECTS(into != nullptr);
    launch<host::sum_of_squares<float>>(stream, gradient, into);
}

void sum_of_squares(const device::Stream& stream,
                    std::span<const tensor::bfloat16> gradient,
                    ExactSum* into) {
    ZG_EXPECTS(into != nullptr);
    launch<host::sum_of_squares<tensor::bfloat16>>(stream, gradient, into);
}

}  // namespace ziggurat::kernels
