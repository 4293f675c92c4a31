#include "kernels/linear.hpp"

#include <algorithm>

#include "base/contract.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/gelu.hpp"
#include "kernels/launch/aligned_part.hpp"
#include "kernels/launch/launch.hpp"
#include "kernels/linear_products.hpp"
#include "kernels/residual.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {
namespace {

template <class T>
PreparedArgument<LinearProducts<T>> prepared(const std::unique_ptr<LinearProducts<T>>& products) {
    return {products.get()};
}

/// A weight in the form that products read, and the rest of the workspace.
struct ReadableWeight {
    VectorAddress<const std::byte> bytes;
    VectorAddress<std::byte> rest;
};

template <class T>
bool has_extents(TensorAddress<T, 2> matrix, std::int64_t rows, std::int64_t columns) {
    return matrix.extent(0) == rows && matrix.extent(1) == columns;
}

}  // namespace

template <class T>
void pack_weight(const device::Stream& stream,
                 PreparedArgument<LinearProducts<T>> products,
                 Packing packing,
                 TensorAddress<const T, 2> w,
                 VectorAddress<std::byte> packed) {
    launch_on_host<pack_weight<T>>(stream, products, packing, w, packed);
}

template <class T>
void linear_forward(const device::Stream& stream,
                    PreparedArgument<LinearProducts<T>> products,
                    TensorAddress<const T, 2> x,
                    VectorAddress<const std::byte> weight,
                    VectorAddress<const T> bias,
                    TensorAddress<T, 2> y,
                    VectorAddress<std::byte> scratch) {
    launch<linear_forward<T>>(stream, products, x, weight, bias, y, scratch);
}

template <class T>
void linear_backward_input(const device::Stream& stream,
                           PreparedArgument<LinearProducts<T>> products,
                           TensorAddress<const T, 2> dy,
                           VectorAddress<const std::byte> weight,
                           TensorAddress<T, 2> dx,
                           VectorAddress<std::byte> scratch) {
    launch<linear_backward_input<T>>(stream, products, dy, weight, dx, scratch);
}

template <class T>
void linear_forward_added(const device::Stream& stream,
                          PreparedArgument<LinearProducts<T>> products,
                          TensorAddress<const T, 2> x,
                          TensorAddress<const T, 2> w,
                          VectorAddress<const T> bias,
                          TensorAddress<const T, 2> addend,
                          TensorAddress<T, 2> y,
                          VectorAddress<std::byte> scratch) {
    launch_on_gpu<linear_forward_added<T>>(stream, products, x, w, bias, addend, y, scratch);
}

template <class T>
void linear_forward_gelu(const device::Stream& stream,
                         PreparedArgument<LinearProducts<T>> products,
                         TensorAddress<const T, 2> x,
                         TensorAddress<const T, 2> w,
                         VectorAddress<const T> bias,
                         TensorAddress<T, 2> y,
                         TensorAddress<T, 2> active,
                         VectorAddress<std::byte> scratch) {
    launch_on_gpu<linear_forward_gelu<T>>(stream, products, x, w, bias, y, active, scratch);
}

template <class T>
void linear_backward_input_gelu(const device::Stream& stream,
                                PreparedArgument<LinearProducts<T>> products,
                                TensorAddress<const T, 2> dy,
                                TensorAddress<const T, 2> w,
                                TensorAddress<const T, 2> before,
                                TensorAddress<T, 2> dx,
                                VectorAddress<std::byte> scratch) {
    launch_on_gpu<linear_backward_input_gelu<T>>(stream, products, dy, w, before, dx, scratch);
}

template <class T>
void linear_backward_input_sum(const device::Stream& stream,
                               PreparedArgument<LinearProducts<T>> products,
                               TensorAddress<const T, 2> dy,
                               VectorAddress<const std::byte> weight,
                               TensorAddress<float, 2> dx,
                               Accumulate accumulate,
                               VectorAddress<std::byte> scratch) {
    launch<linear_backward_input_sum<T>>(stream, products, dy, weight, dx, accumulate, scratch);
}

template <class T>
void linear_backward_weight(const device::Stream& stream,
                            PreparedArgument<LinearProducts<T>> products,
                            TensorAddress<const T, 2> x,
                            TensorAddress<const T, 2> dy,
                            TensorAddress<float, 2> dw,
                            Accumulate accumulate,
                            VectorAddress<std::byte> scratch) {
    launch<linear_backward_weight<T>>(stream, products, x, dy, dw, accumulate, scratch);
}

template <class T>
Linear<T>::Linear(const device::Stream& stream, const LinearShape& shape) : shape_{shape} {
    ZG_EXPECTS(shape.rows >= 0 && shape.in > 0 && shape.out > 0);
    ZG_EXPECTS(stream.num_threads() > 0);
    products_ = prepare<host::make_products<T>, cuda::make_products<T>>(stream, shape);
}

template <class T>
Linear<T>::~Linear() = default;
template <class T>
Linear<T>::Linear(Linear&&) noexcept = default;
template <class T>
Linear<T>& Linear<T>::operator=(Linear&&) noexcept = default;

template <class T>
std::int64_t Linear<T>::packed_bytes(Packing packing) const noexcept {
    return products_->packed_bytes(packing);
}

template <class T>
std::int64_t Linear<T>::packed_workspace_bytes() const noexcept {
    return products_->alignment() + std::max(products_->scratch_bytes(), products_->weight_scratch_bytes());
}

template <class T>
std::int64_t Linear<T>::workspace_bytes() const noexcept {
    const auto alignment = products_->alignment();
    const auto packed = std::max(packed_bytes(Packing::forward), packed_bytes(Packing::backward_input));
    const auto aligned = (packed + alignment - 1) / alignment * alignment;
    return alignment + std::max(aligned + products_->scratch_bytes(), products_->weight_scratch_bytes());
}

namespace {

/// Packs `w` into `workspace`, unless products read the weight in place.
template <class T>
ReadableWeight made_readable(const device::Stream& stream,
                             const LinearProducts<T>& products,
                             const LinearShape& shape,
                             Packing packing,
                             TensorAddress<const T, 2> w,
                             VectorAddress<std::byte> workspace) {
    ZG_EXPECTS(has_extents(w, shape.out, shape.in));
    const auto bytes = products.packed_bytes(packing);
    if (bytes == 0) {
        return {w.bytes(), workspace};
    }
    const auto packed = aligned_part(workspace, bytes, products.alignment());
    const auto end = static_cast<std::int64_t>(packed.number() - workspace.number()) + bytes;
    if (shape.rows > 0) {
        kernels::pack_weight<T>(stream, {&products}, packing, w, packed);
    }
    return {packed, workspace.part(end, workspace.size() - end)};
}

}  // namespace

template <class T>
void Linear<T>::multiply_forward(const device::Stream& stream,
                                 TensorAddress<const T, 2> x,
                                 VectorAddress<const std::byte> weight,
                                 VectorAddress<const T> bias,
                                 TensorAddress<T, 2> y,
                                 VectorAddress<std::byte> workspace) const {
    ZG_EXPECTS(has_extents(x, shape_.rows, shape_.in) && has_extents(y, shape_.rows, shape_.out));
    ZG_EXPECTS(bias.extent(0) == (shape_.has_bias ? shape_.out : 0));
    if (shape_.rows > 0) {
        kernels::linear_forward<T>(
            stream, prepared(products_), x, weight, bias, y,
            aligned_part(workspace, products_->scratch_bytes(), products_->alignment()));
    }
}

template <class T>
void Linear<T>::multiply_backward(const device::Stream& stream,
                                  TensorAddress<const T, 2> dy,
                                  VectorAddress<const std::byte> weight,
                                  TensorAddress<T, 2> dx,
                                  VectorAddress<std::byte> workspace) const {
    ZG_EXPECTS(has_extents(dy, shape_.rows, shape_.out) && has_extents(dx, shape_.rows, shape_.in));
    if (shape_.rows > 0) {
        kernels::linear_backward_input<T>(
            stream, prepared(products_), dy, weight, dx,
            aligned_part(workspace, products_->scratch_bytes(), products_->alignment()));
    }
}

template <class T>
bool Linear<T>::is_packed(Packing packing, VectorAddress<const std::byte> packed) const {
    const auto bytes = packed_bytes(packing);
    const auto alignment = static_cast<std::uintptr_t>(products_->alignment());
    return bytes > 0 && packed.size() >= bytes && packed.number() % alignment == 0;
}

template <class T>
void Linear<T>::pack(const device::Stream& stream,
                     Packing packing,
                     TensorAddress<const T, 2> w,
                     VectorAddress<std::byte> packed) const {
    ZG_EXPECTS(has_extents(w, shape_.out, shape_.in));
    ZG_EXPECTS(is_packed(packing, packed));
    kernels::pack_weight<T>(stream, prepared(products_), packing, w, packed);
}

template <class T>
void Linear<T>::forward_packed(const device::Stream& stream,
                               TensorAddress<const T, 2> x,
                               VectorAddress<const std::byte> packed,
                               VectorAddress<const T> bias,
                               TensorAddress<T, 2> y,
                               VectorAddress<std::byte> workspace) const {
    ZG_EXPECTS(is_packed(Packing::forward, packed));
    multiply_forward(stream, x, packed, bias, y, workspace);
}

template <class T>
void Linear<T>::backward_input_packed(const device::Stream& stream,
                                      TensorAddress<const T, 2> dy,
                                      VectorAddress<const std::byte> packed,
                                      TensorAddress<T, 2> dx,
                                      VectorAddress<std::byte> workspace) const {
    ZG_EXPECTS(is_packed(Packing::backward_input, packed));
    multiply_backward(stream, dy, packed, dx, workspace);
}

template <class T>
void Linear<T>::forward(const device::Stream& stream,
                        TensorAddress<const T, 2> x,
                        TensorAddress<const T, 2> w,
                        VectorAddress<const T> bias,
                        TensorAddress<T, 2> y,
                        VectorAddress<std::byte> workspace) const {
    const auto weight = made_readable(stream, *products_, shape_, Packing::forward, w, workspace);
    multiply_forward(stream, x, weight.bytes, bias, y, weight.rest);
}

template <class T>
void Linear<T>::backward_input(const device::Stream& stream,
                               TensorAddress<const T, 2> dy,
                               TensorAddress<const T, 2> w,
                               TensorAddress<T, 2> dx,
                               VectorAddress<std::byte> workspace) const {
    const auto weight = made_readable(stream, *products_, shape_, Packing::backward_input, w, workspace);
    multiply_backward(stream, dy, weight.bytes, dx, weight.rest);
}

template <class T>
void Linear<T>::forward_added(const device::Stream& stream,
                              TensorAddress<const T, 2> x,
                              TensorAddress<const T, 2> w,
                              VectorAddress<const T> bias,
                              TensorAddress<const T, 2> addend,
                              TensorAddress<T, 2> y,
                              VectorAddress<std::byte> workspace) const {
    ZG_EXPECTS(has_extents(addend, shape_.rows, shape_.out));
    if (!products_->has_forward_added()) {
        forward(stream, x, w, bias, y, workspace);
        residual_forward<T>(stream, addend, y, {}, y);
        return;
    }
    ZG_EXPECTS(has_extents(x, shape_.rows, shape_.in) && has_extents(y, shape_.rows, shape_.out));
    ZG_EXPECTS(has_extents(w, shape_.out, shape_.in));
    ZG_EXPECTS(bias.extent(0) == (shape_.has_bias ? shape_.out : 0));
    if (shape_.rows > 0) {
        kernels::linear_forward_added<T>(
            stream, prepared(products_), x, w, bias, addend, y,
            aligned_part(workspace, products_->scratch_bytes(), products_->alignment()));
    }
}

template <class T>
void Linear<T>::forward_gelu(const device::Stream& stream,
                             TensorAddress<const T, 2> x,
                             TensorAddress<const T, 2> w,
                             VectorAddress<const T> bias,
                             TensorAddress<T, 2> y,
                             TensorAddress<T, 2> active,
                             VectorAddress<std::byte> workspace) const {
    ZG_EXPECTS(shape_.with_gelu && has_extents(active, shape_.rows, shape_.out));
    if (!products_->has_forward_gelu()) {
        forward(stream, x, w, bias, y, workspace);
        gelu_forward<T>(stream, y, active);
        return;
    }
    ZG_EXPECTS(has_extents(x, shape_.rows, shape_.in) && has_extents(y, shape_.rows, shape_.out));
    ZG_EXPECTS(has_extents(w, shape_.out, shape_.in) && bias.extent(0) == shape_.out);
    kernels::linear_forward_gelu<T>(
        stream, prepared(products_), x, w, bias, y, active,
        aligned_part(workspace, products_->scratch_bytes(), products_->alignment()));
}

template <class T>
void Linear<T>::backward_input_gelu(const device::Stream& stream,
                                    TensorAddress<const T, 2> dy,
                                    TensorAddress<const T, 2> w,
                                    TensorAddress<const T, 2> before,
                                    TensorAddress<T, 2> dx,
                                    VectorAddress<std::byte> workspace) const {
    ZG_EXPECTS(shape_.with_gelu && has_extents(before, shape_.rows, shape_.in));
    if (!products_->has_backward_gelu()) {
        backward_input(stream, dy, w, dx, workspace);
        gelu_backward<T>(stream, before, dx);
        return;
    }
    ZG_EXPECTS(has_extents(dy, shape_.rows, shape_.out) && has_extents(dx, shape_.rows, shape_.in));
    ZG_EXPECTS(has_extents(w, shape_.out, shape_.in));
    kernels::linear_backward_input_gelu<T>(
        stream, prepared(products_), dy, w, before, dx,
        aligned_part(workspace, products_->scratch_bytes(), products_->alignment()));
}

template <class T>
void Linear<T>::backward_input_sum(const device::Stream& stream,
                                   TensorAddress<const T, 2> dy,
                                   TensorAddress<const T, 2> w,
                                   TensorAddress<float, 2> dx,
                                   Accumulate accumulate,
                                   VectorAddress<std::byte> workspace) const {
    ZG_EXPECTS(shape_.is_tile);
    ZG_EXPECTS(has_extents(dy, shape_.rows, shape_.out) && has_extents(dx, shape_.rows, shape_.in));
    const auto weight = made_readable(stream, *products_, shape_, Packing::backward_input, w, workspace);
    if (shape_.rows > 0) {
        kernels::linear_backward_input_sum<T>(
            stream, prepared(products_), dy, weight.bytes, dx, accumulate,
            aligned_part(weight.rest, products_->scratch_bytes(), products_->alignment()));
    }
}

template <class T>
void Linear<T>::backward_weight(const device::Stream& stream,
                                TensorAddress<const T, 2> x,
                                TensorAddress<const T, 2> dy,
                                TensorAddress<float, 2> dw,
                                Accumulate accumulate,
                                VectorAddress<std::byte> workspace) const {
    ZG_EXPECTS(has_extents(x, shape_.rows, shape_.in) && has_extents(dy, shape_.rows, shape_.out));
    ZG_EXPECTS(has_extents(dw, shape_.out, shape_.in));
    if (shape_.rows > 0) {
        kernels::linear_backward_weight<T>(
            stream, prepared(products_), x, dy, dw, accumulate,
            aligned_part(workspace, products_->weight_scratch_bytes(), products_->alignment()));
    } else if (accumulate == Accumulate::no) {
        fill_zero<float>(stream, dw.flat());
    }
}

template decltype(pack_weight<float>) pack_weight<float>;
template decltype(pack_weight<tensor::bfloat16>) pack_weight<tensor::bfloat16>;
template decltype(linear_forward<float>) linear_forward<float>;
template decltype(linear_forward<tensor::bfloat16>) linear_forward<tensor::bfloat16>;
template decltype(linear_backward_input<float>) linear_backward_input<float>;
template decltype(linear_backward_input<tensor::bfloat16>) linear_backward_input<tensor::bfloat16>;
template decltype(linear_forward_added<float>) linear_forward_added<float>;
template decltype(linear_forward_added<tensor::bfloat16>) linear_forward_added<tensor::bfloat16>;
template decltype(linear_forward_gelu<float>) linear_forward_gelu<float>;
template decltype(linear_forward_gelu<tensor::bfloat16>) linear_forward_gelu<tensor::bfloat16>;
template decltype(linear_backward_input_gelu<float>) linear_backward_input_gelu<float>;
template decltype(linear_backward_input_gelu<tensor::bfloat16>) linear_backward_input_gelu<tensor::bfloat16>;
template decltype(linear_backward_input_sum<float>) linear_backward_input_sum<float>;
template decltype(linear_backward_input_sum<tensor::bfloat16>) linear_backward_input_sum<tensor::bfloat16>;
template decltype(linear_backward_weight<float>) linear_backward_weight<float>;
template decltype(linear_backward_weight<tensor::bfloat16>) linear_backward_weight<tensor::bfloat16>;
template class Linear<float>;
template class Linear<tensor::bfloat16>;

}  // namespace ziggurat::kernels
