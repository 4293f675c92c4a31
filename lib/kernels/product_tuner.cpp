#include "kernels/product_tuner.hpp"

#include "kernels/launch/launch.hpp"
#include "kernels/linear_products.hpp"

namespace ziggurat::kernels {
namespace host {

std::shared_ptr<ProductTuner> product_tuner(const device::Stream&) {
    return nullptr;
}

}  // namespace host

std::shared_ptr<ProductTuner> product_tuner(const device::Stream& stream) {
    return prepare<host::product_tuner, cuda::product_tuner>(stream);
}

}  // namespace ziggurat::kernels
