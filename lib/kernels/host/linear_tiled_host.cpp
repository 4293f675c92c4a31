#include "kernels/host/linear_pairs_impl.hpp"
#include "kernels/host/linear_tiled_impl.hpp"
#include "kernels/host_vector.hpp"

namespace ziggurat::kernels::host {

using tile::HostVector;

bool has_wide_tiles() {
    return HostVector::Single::register_floats == 16;
}

bool has_tiles_of_pairs() {
    return HostVector::has_bf16_pairs;
}

template <class T>
std::unique_ptr<HostProducts<T>> make_tiled_products(const LinearShape& shape, int num_threads) {
    if constexpr (tile::elements_per_word<HostVector, T> == 2) {
        return std::make_unique<PairProducts<HostVector>>(shape, num_threads);
    } else {
        return std::make_unique<TiledProducts<HostVector::Single, T>>(shape, num_threads);
    }
}

template std::unique_ptr<HostProducts<float>> make_tiled_products<float>(const LinearShape&, int);
template std::unique_ptr<HostProducts<tensor::bfloat16>> make_tiled_products<tensor::bfloat16>(
    const LinearShape&, int);

}  // namespace ziggurat::kernels::host
