#include "kernels/linear.hpp"

#include <algorithm>

#include "base/contract.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/host/linear_host.hpp"
#include "kernels/launch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {
namespace {

constexpr std::int64_t alignment = layout::HostWorkspaces::alignment;

constexpr std::int64_t aligned(std::int64_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
}

/// The first `bytes` aligned bytes of `workspace`, which has to have them.
std::span<std::byte> aligned_in(std::span<std::byte> workspace, std::int64_t bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(workspace.data());
    const auto offset = static_cast<std::int64_t>(-address % alignment);
    ZG_EXPECTS(offset + bytes <= std::ssize(workspace));
    return {workspace.data() + offset, static_cast<std::size_t>(bytes)};
}

bool is_aligned(std::span<const std::byte> bytes) {
    return reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment == 0;
}

/// A workspace cut into the packed weight and what is left.
struct Cut {
    std::span<std::byte> packed, rest;

    Cut(std::span<std::byte> workspace, std::int64_t packed_bytes)
        : packed{aligned_in(workspace, packed_bytes)},
          rest{packed.data() + packed_bytes, workspace.data() + workspace.size()} {}
};

template <class T>
bool has_extents(tensor::TensorRef<T, 2> matrix, std::int64_t rows, std::int64_t columns) {
    return matrix.extent(0) == rows && matrix.extent(1) == columns;
}

}  // namespace

template <class T>
Linear<T>::Linear(const device::Stream& stream, const LinearShape& shape) : shape_{shape} {
    ZG_EXPECTS(shape.rows >= 0 && shape.in > 0 && shape.out > 0);
    ZG_EXPECTS(stream.num_threads() > 0);
    products_ = host::make_products<T>(shape, stream.num_threads());
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
    return alignment + std::max(products_->scratch_bytes(), products_->weight_scratch_bytes());
}

template <class T>
std::int64_t Linear<T>::workspace_bytes() const noexcept {
    const auto packed = std::max(packed_bytes(Packing::forward), packed_bytes(Packing::backward_input));
    return alignment +
           std::max(aligned(packed) + products_->scratch_bytes(), products_->weight_scratch_bytes());
}

template <class T>
void Linear<T>::pack(const device::Stream& stream,
                     Packing packing,
                     tensor::TensorRef<const T, 2> w,
                     std::span<std::byte> packed) const {
    ZG_EXPECTS(has_extents(w, shape_.out, shape_.in));
    ZG_EXPECTS(std::ssize(packed) >= packed_bytes(packing) && is_aligned(packed));
    launch<host::pack_weight<T>>(stream, Prepared<LinearProducts<T>>{products_.get()}, packing, w, packed);
}

template <class T>
void Linear<T>::forward_packed(const device::Stream& stream,
                               tensor::TensorRef<const T, 2> x,
                               std::span<const std::byte> packed,
                               tensor::TensorRef<const T, 1> bias,
                               tensor::TensorRef<T, 2> y,
                               std::span<std::byte> workspace) const {
    ZG_EXPECTS(has_extents(x, shape_.rows, shape_.in) && has_extents(y, shape_.rows, shape_.out));
    ZG_EXPECTS(bias.extent(0) == (shape_.has_bias ? shape_.out : 0));
    ZG_EXPECTS(std::ssize(packed) >= packed_bytes(Packing::forward) && is_aligned(packed));
    if (shape_.rows > 0) {
        launch<host::linear_forward<T>>(stream, Prepared<LinearProducts<T>>{products_.get()}, x, packed, bias,
                                        y, aligned_in(workspace, products_->scratch_bytes()));
    }
}

template <class T>
void Linear<T>::backward_input_packed(const device::Stream& stream,
                                      tensor::TensorRef<const T, 2> dy,
                                      std::span<const std::byte> packed,
                                      tensor::TensorRef<T, 2> dx,
                                      std::span<std::byte> workspace) const {
    ZG_EXPECTS(has_extents(dy, shape_.rows, shape_.out) && has_extents(dx, shape_.rows, shape_.in));
    ZG_EXPECTS(std::ssize(packed) >= packed_bytes(Packing::backward_input) && is_aligned(packed));
    if (shape_.rows > 0) {
        launch<host::linear_backward_input<T>>(stream, Prepared<LinearProducts<T>>{products_.get()}, dy,
                                               packed, dx, aligned_in(workspace, products_->scratch_bytes()));
    }
}

template <class T>
void Linear<T>::forward(const device::Stream& stream,
                        tensor::TensorRef<const T, 2> x,
                        tensor::TensorRef<const T, 2> w,
                        tensor::TensorRef<const T, 1> bias,
                        tensor::TensorRef<T, 2> y,
                        std::span<std::byte> workspace) const {
    const Cut cut{workspace, packed_bytes(Packing::forward)};
    if (shape_.rows > 0) {
        pack(stream, Packing::forward, w, cut.packed);
    }
    forward_packed(stream, x, cut.packed, bias, y, cut.rest);
}

template <class T>
void Linear<T>::backward_input(const device::Stream& stream,
                               tensor::TensorRef<const T, 2> dy,
                               tensor::TensorRef<const T, 2> w,
                               tensor::TensorRef<T, 2> dx,
                               std::span<std::byte> workspace) const {
    const Cut cut{workspace, packed_bytes(Packing::backward_input)};
    if (shape_.rows > 0) {
        pack(stream, Packing::backward_input, w, cut.packed);
    }
    backward_input_packed(stream, dy, cut.packed, dx, cut.rest);
}

template <class T>
void Linear<T>::backward_input_sum(const device::Stream& stream,
                                   tensor::TensorRef<const T, 2> dy,
                                   tensor::TensorRef<const T, 2> w,
                                   tensor::TensorRef<float, 2> dx,
                                   Accumulate accumulate,
                                   std::span<std::byte> workspace) const {
    ZG_EXPECTS(shape_.is_tile);
    ZG_EXPECTS(has_extents(dy, shape_.rows, shape_.out) && has_extents(dx, shape_.rows, shape_.in));
    const Cut cut{workspace, packed_bytes(Packing::backward_input)};
    if (shape_.rows > 0) {
        pack(stream, Packing::backward_input, w, cut.packed);
        launch<host::linear_backward_input_sum<T>>(stream, Prepared<LinearProducts<T>>{products_.get()}, dy,
                                                   cut.packed, dx, accumulate,
                                                   aligned_in(cut.rest, products_->scratch_bytes()));
    }
}

template <class T>
void Linear<T>::backward_weight(const device::Stream& stream,
                                tensor::TensorRef<const T, 2> x,
                                tensor::TensorRef<const T, 2> dy,
                                tensor::TensorRef<float, 2> dw,
                                Accumulate accumulate,
                                std::span<std::byte> workspace) const {
    ZG_EXPECTS(has_extents(x, shape_.rows, shape_.in) && has_extents(dy, shape_.rows, shape_.out));
    ZG_EXPECTS(has_extents(dw, shape_.out, shape_.in));
    if (shape_.rows > 0) {
        launch<host::linear_backward_weight<T>>(stream, Prepared<LinearProducts<T>>{products_.get()}, x, dy,
                                                dw, accumulate,
                                                aligned_in(workspace, products_->weight_scratch_bytes()));
    } else if (accumulate == Accumulate::no) {
        fill_zero(stream, std::span{dw.data, static_cast<std::size_t>(dw.size())});
    }
}

template class Linear<float>;
template class Linear<tensor::bfloat16>;

}  // namespace ziggurat::kernels
