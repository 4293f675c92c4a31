#include "kernels/host_vector.hpp"
#include "kernels/linear_tiled_impl.hpp"

namespace ziggurat::kernels::host {

bool has_wide_tiles() {
    return tile::HostVector::Single::register_floats == 16;
}

template <class T>
std::unique_ptr<LinearProducts<T>> make_tiled_products(const LinearShape& shape, int num_threads) {
    return std::make_unique<TiledProducts<tile::HostVector::Single, T>>(shape, num_threads);
}

template std::unique_ptr<LinearProducts<float>> make_tiled_products<float>(const LinearShape&, int);
template std::unique_ptr<LinearProducts<tensor::bfloat16>> make_tiled_products<tensor::bfloat16>(
    const LinearShape&, int);

}  // namespace ziggurat::kernels::host
