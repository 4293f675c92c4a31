#include "kernels/host/linear_host.hpp"

#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {

using tensor::TensorRef;

template <class T>
std::unique_ptr<LinearProducts<T>> make_products(const LinearShape& shape, int num_threads) {
    const bool is_onednn = has_onednn_products<T>() && !are_tiles_quicker<T>();
    return is_onednn ? make_onednn_products<T>(shape, num_threads)
                     : make_tiled_products<T>(shape, num_threads);
}

template <class T>
void pack_weight(const device::Stream&,
                 Prepared<LinearProducts<T>> products,
                 Packing packing,
                 TensorRef<const T, 2> w,
                 std::span<std::byte> packed) {
    products.object->pack(packing, w.data, packed.data());
}

template <class T>
void linear_forward(const device::Stream&,
                    Prepared<LinearProducts<T>> products,
                    TensorRef<const T, 2> x,
                    std::span<const std::byte> packed,
                    TensorRef<const T, 1> bias,
                    TensorRef<T, 2> y,
                    std::span<std::byte> scratch) {
    const T* address = bias.empty() ? nullptr : bias.data;
    products.object->forward(x.data, packed.data(), address, y.data, scratch.data());
}

template <class T>
void linear_backward_input(const device::Stream&,
                           Prepared<LinearProducts<T>> products,
                           TensorRef<const T, 2> dy,
                           std::span<const std::byte> packed,
                           TensorRef<T, 2> dx,
                           std::span<std::byte> scratch) {
    products.object->backward_input(dy.data, packed.data(), dx.data, scratch.data());
}

template <class T>
void linear_backward_input_sum(const device::Stream&,
                               Prepared<LinearProducts<T>> products,
                               TensorRef<const T, 2> dy,
                               std::span<const std::byte> packed,
                               TensorRef<float, 2> dx,
                               Accumulate accumulate,
                               std::span<std::byte> scratch) {
    products.object->backward_input_sum(dy.data, packed.data(), dx.data, accumulate, scratch.data());
}

template <class T>
void linear_backward_weight(const device::Stream&,
                            Prepared<LinearProducts<T>> products,
                            TensorRef<const T, 2> x,
                            TensorRef<const T, 2> dy,
                            TensorRef<float, 2> dw,
                            Accumulate accumulate,
                            std::span<std::byte> scratch) {
    products.object->backward_weight(x.data, dy.data, dw.data, accumulate, scratch.data());
}

#define ZG_INSTANTIATE(T)                                                         \
    template decltype(make_products<T>) make_products<T>;                         \
    template decltype(pack_weight<T>) pack_weight<T>;                             \
    template decltype(linear_forward<T>) linear_forward<T>;                       \
    template decltype(linear_backward_input<T>) linear_backward_input<T>;         \
    template decltype(linear_backward_input_sum<T>) linear_backward_input_sum<T>; \
    template decltype(linear_backward_weight<T>) linear_backward_weight<T>;
ZG_INSTANTIATE(float)
ZG_INSTANTIATE(tensor::bfloat16)
#undef ZG_INSTANTIATE

}  // namespace ziggurat::kernels::host
