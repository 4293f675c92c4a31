#include "kernels/host/kernel_backend_host.hpp"
#include "kernels/linear_products.hpp"

#include "base/contract.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {

using tensor::TensorRef;

namespace {

template <class T>
const HostProducts<T>& of_host(PreparedArgument<LinearProducts<T>> products) {
    const auto* const made = dynamic_cast<const HostProducts<T>*>(products.object);
    ZG_EXPECTS(made != nullptr);
    return *made;
}

}  // namespace

template <class T>
std::unique_ptr<LinearProducts<T>> make_products(const device::Stream& stream, const LinearShape& shape) {
    if (shape.is_in_place) {
        return make_in_place_products<T>(shape);
    }
    const bool is_onednn = has_onednn_products<T>() && !are_tiles_quicker<T>();
    return is_onednn ? make_onednn_products<T>(shape, stream.num_threads())
                     : make_tiled_products<T>(shape, stream.num_threads());
}

template <class T>
void pack_weight(const device::Stream&,
                 PreparedArgument<LinearProducts<T>> products,
                 Packing packing,
                 TensorRef<const T, 2> w,
                 std::span<std::byte> packed) {
    of_host(products).pack(packing, w.data, packed.data());
}

template <class T>
void linear_forward(const device::Stream&,
                    PreparedArgument<LinearProducts<T>> products,
                    TensorRef<const T, 2> x,
                    std::span<const std::byte> weight,
                    TensorRef<const T, 1> bias,
                    TensorRef<T, 2> y,
                    std::span<std::byte> scratch) {
    const T* address = bias.empty() ? nullptr : bias.data;
    of_host(products).forward(x.data, weight.data(), address, y.data, scratch.data());
}

template <class T>
void linear_backward_input(const device::Stream&,
                           PreparedArgument<LinearProducts<T>> products,
                           TensorRef<const T, 2> dy,
                           std::span<const std::byte> weight,
                           TensorRef<T, 2> dx,
                           std::span<std::byte> scratch) {
    of_host(products).backward_input(dy.data, weight.data(), dx.data, scratch.data());
}

template <class T>
void linear_backward_input_sum(const device::Stream&,
                               PreparedArgument<LinearProducts<T>> products,
                               TensorRef<const T, 2> dy,
                               std::span<const std::byte> weight,
                               TensorRef<float, 2> dx,
                               Accumulate accumulate,
                               std::span<std::byte> scratch) {
    of_host(products).backward_input_sum(dy.data, weight.data(), dx.data, accumulate, scratch.data());
}

template <class T>
void linear_backward_weight(const device::Stream&,
                            PreparedArgument<LinearProducts<T>> products,
                            TensorRef<const T, 2> x,
                            TensorRef<const T, 2> dy,
                            TensorRef<float, 2> dw,
                            Accumulate accumulate,
                            std::span<std::byte> scratch) {
    of_host(products).backward_weight(x.data, dy.data, dw.data, accumulate, scratch.data());
}

#define ZG_INSTANTIATE(T)                                                                                    \
    template std::unique_ptr<LinearProducts<T>> make_products<T>(const device::Stream&, const LinearShape&); \
    ZG_REGISTER_HOST_KERNEL(pack_weight<T>);                                                                 \
    ZG_REGISTER_HOST_KERNEL(linear_forward<T>);                                                              \
    ZG_REGISTER_HOST_KERNEL(linear_backward_input<T>);                                                       \
    ZG_REGISTER_HOST_KERNEL(linear_backward_input_sum<T>);                                                   \
    ZG_REGISTER_HOST_KERNEL(linear_backward_weight<T>)
ZG_INSTANTIATE(float);
ZG_INSTANTIATE(tensor::bfloat16);
#undef ZG_INSTANTIATE

}  // namespace ziggurat::kernels::host
