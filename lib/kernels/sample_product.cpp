#include "kernels/sample_product.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "device/copy.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {
namespace {

constexpr std::int64_t operand_alignment = 64;
constexpr std::int64_t sample_period = 65521;  ///< a prime, so that no row repeats the previous row

}  // namespace

float sample_element(std::int64_t index) noexcept {
    const auto mixed = static_cast<std::uint32_t>(index % sample_period) * 2654435761U;
    return static_cast<float>(mixed >> 24) / 128.0F - 1.0F;
}

template <class T>
SampleProduct<T>::SampleProduct(device::Device& device, std::int64_t rows, std::int64_t width)
    : rows_{rows},
      width_{width},
      stream_{device.make_stream()},
      linear_{stream_, {rows, width, width, false}},
      arena_{device.reserve(bytes(x) + bytes(w) + bytes(y) + bytes(workspace),
                            "a timed matrix product",
                            device::Arena::Kind::own)},
      staging_{std::max(rows, width) * width * static_cast<std::int64_t>(sizeof(T)), "its operands"},
      pinned_{device.pin(staging_)} {
    auto* const elements = reinterpret_cast<T*>(staging_.data());
    const auto count = std::max(rows, width) * width;
    for (std::int64_t i = 0; i < std::min(count, sample_period); ++i) {
        std::construct_at(elements + i, T{sample_element(i)});
    }
    for (auto done = sample_period; done < count; done += sample_period) {
        std::uninitialized_copy_n(elements, std::min(sample_period, count - done), elements + done);
    }
    const auto* from = staging_.data();
    device::copy(stream_, at(x), from, rows * width * static_cast<std::int64_t>(sizeof(T)));
    device::copy(stream_, at(w), from, width * width * static_cast<std::int64_t>(sizeof(T)));
    stream_.finish();
}

template <class T>
std::int64_t SampleProduct<T>::bytes(Operand operand) const noexcept {
    const auto elements = (operand == w ? width_ : rows_) * width_;
    const auto exact =
        operand == workspace ? linear_.workspace_bytes() : elements * static_cast<std::int64_t>(sizeof(T));
    return (exact + operand_alignment - 1) / operand_alignment * operand_alignment;
}

template <class T>
std::byte* SampleProduct<T>::at(Operand operand) const noexcept {
    auto* address = arena_.data();
    for (const auto before : {x, w, y}) {
        address += before < operand ? bytes(before) : 0;
    }
    return address;
}

template <class T>
void SampleProduct<T>::run() const {
    using Matrix = TensorAddress<T, 2>;
    linear_.forward(stream_, Matrix::at(at(x), {rows_, width_}), Matrix::at(at(w), {width_, width_}), {},
                    Matrix::at(at(y), {rows_, width_}),
                    VectorAddress<std::byte>::at(at(workspace), {linear_.workspace_bytes()}));
    stream_.finish();
}

template <class T>
double SampleProduct<T>::flops() const noexcept {
    return 2.0 * static_cast<double>(rows_) * static_cast<double>(width_ * width_);
}

template <class T>
T SampleProduct<T>::last() {
    T value{};
    const auto size = static_cast<std::int64_t>(sizeof(T));
    device::copy(stream_, staging_.data(), at(y) + (rows_ * width_ - 1) * size, size);
    stream_.finish();
    std::memcpy(&value, staging_.data(), sizeof value);
    return value;
}

template class SampleProduct<float>;
template class SampleProduct<tensor::bfloat16>;

}  // namespace ziggurat::kernels
