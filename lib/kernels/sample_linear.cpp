#include "kernels/sample_linear.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "device/copy.hpp"
#include "kernels/sample_product.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {
namespace {

constexpr std::int64_t alignment = 64;

constexpr std::int64_t aligned(std::int64_t bytes) noexcept {
    return (bytes + alignment - 1) / alignment * alignment;
}

template <class T>
constexpr auto size_of = static_cast<std::int64_t>(sizeof(T));

}  // namespace

template <class T>
typename SampleLinear<T>::Offsets SampleLinear<T>::offsets_of(const LinearShape& shape) noexcept {
    Offsets made{};
    made.w = made.x + aligned(shape.rows * shape.in * size_of<T>);
    made.y = made.w + aligned(shape.in * shape.out * size_of<T>);
    made.dx = made.y + aligned(shape.rows * shape.out * size_of<T>);
    made.dw = made.dx + aligned(shape.rows * shape.in * size_of<T>);
    made.end = made.dw + aligned(shape.in * shape.out * size_of<float>);
    return made;
}

template <class T>
SampleLinear<T>::SampleLinear(device::Device& device, const LinearShape& shape, std::int64_t pool_bytes)
    : shape_{shape},
      offsets_{offsets_of(shape)},
      num_sets_{std::max<std::int64_t>(1, (pool_bytes + offsets_.end - 1) / offsets_.end)},
      stream_{device.make_stream()},
      linear_{stream_, shape},
      arena_{device.reserve(num_sets_ * offsets_.end + linear_.workspace_bytes(),
                            "timed matrix products",
                            device::Arena::Kind::own)},
      staging_{offsets_.dw, "operands of timed matrix products"},
      pinned_{device.pin(staging_)} {
    auto* const elements = reinterpret_cast<T*>(staging_.data());
    const auto count = offsets_.dw / size_of<T>;
    for (std::int64_t i = 0; i < count; ++i) {
        std::construct_at(elements + i, T{sample_element(i)});
    }
    for (current_ = 0; current_ < num_sets_; ++current_) {
        device::copy(stream_, set(), staging_.data(), offsets_.dw);
    }
    current_ = 0;
    stream_.finish();
}

template <class T>
void SampleLinear<T>::start(LinearProduct product) {
    current_ = (current_ + 1) % num_sets_;
    const auto matrix = [&](std::int64_t offset, std::int64_t rows, std::int64_t width) {
        return TensorAddress<T, 2>::at(set() + offset, {rows, width});
    };
    const auto& [rows, in, out, has_bias, is_tile, with_gelu, is_in_place] = shape_;
    const auto x = matrix(offsets_.x, rows, in);
    const auto w = matrix(offsets_.w, out, in);
    const auto y = matrix(offsets_.y, rows, out);
    const auto workspace =
        VectorAddress<std::byte>::at(arena_.data() + num_sets_ * offsets_.end, {linear_.workspace_bytes()});
    switch (product) {
        case LinearProduct::forward:
            linear_.forward(stream_, x, w, {}, y, workspace);
            break;
        case LinearProduct::backward_input:
            linear_.backward_input(stream_, y, w, matrix(offsets_.dx, rows, in), workspace);
            break;
        case LinearProduct::backward_weight:
            linear_.backward_weight(stream_, x, y,
                                    TensorAddress<float, 2>::at(set() + offsets_.dw, {out, in}),
                                    Accumulate::no, workspace);
            break;
    }
}

template <class T>
double SampleLinear<T>::flops() const noexcept {
    return 2.0 * static_cast<double>(shape_.rows) * static_cast<double>(shape_.in * shape_.out);
}

template <class T>
template <class E>
float SampleLinear<T>::element(std::int64_t offset, std::int64_t count) {
    E value{};
    device::copy(stream_, staging_.data(), set() + offset + (count - 1) * size_of<E>, size_of<E>);
    stream_.finish();
    std::memcpy(&value, staging_.data(), sizeof value);
    return static_cast<float>(value);
}

template <class T>
float SampleLinear<T>::last(LinearProduct product) {
    switch (product) {
        case LinearProduct::forward:
            return element<T>(offsets_.y, shape_.rows * shape_.out);
        case LinearProduct::backward_input:
            return element<T>(offsets_.dx, shape_.rows * shape_.in);
        case LinearProduct::backward_weight:
            return element<float>(offsets_.dw, shape_.in * shape_.out);
    }
    return 0;
}

template class SampleLinear<float>;
template class SampleLinear<tensor::bfloat16>;

}  // namespace ziggurat::kernels
