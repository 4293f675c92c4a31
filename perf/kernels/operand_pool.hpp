/// Operands for benchmarks of memory-bound kernels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "device/arena.hpp"
#include "device/copy.hpp"
#include "device/device.hpp"
#include "tensor/bfloat16.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::perf {

/// A large arena of numbers between zero and one. Operands are taken from front to back, then from the
/// front again.
class OperandPool {
  public:
    explicit OperandPool(std::int64_t bytes) : arena_{bytes, "operands"} { fill(arena_); }

    /// Fills memory of a device with a repeating sequence of numbers.
    OperandPool(device::Device& device, const device::Stream& stream, std::int64_t bytes)
        : arena_{device.reserve(bytes, "operands", device::Arena::Kind::own)} {
        const device::Arena numbers{std::min(bytes, std::int64_t{64} << 20), "operands to be copied"};
        const auto pinned = device.pin(numbers);
        fill(numbers);
        for (std::int64_t at = 0; at < bytes; at += numbers.bytes()) {
            device::copy(stream, arena_.data() + at, numbers.data(), std::min(numbers.bytes(), bytes - at));
        }
        stream.finish();
    }

    template <class T>
    T* take(std::int64_t count) {
        const auto bytes = (count * static_cast<std::int64_t>(sizeof(T)) + 4095) / 4096 * 4096;
        if (next_ + bytes > arena_.bytes()) {
            next_ = 0;
        }
        next_ += bytes;
        return reinterpret_cast<T*>(arena_.data() + next_ - bytes);
    }
    template <class T>
    tensor::TensorRef<T, 2> matrix(std::int64_t num_rows, std::int64_t width) {
        return {take<T>(num_rows * width), {num_rows, width}};
    }
    template <class T>
    tensor::TensorRef<T, 1> vector(std::int64_t width) {
        return {take<T>(width), {width}};
    }
    template <class T>
    std::span<T> span(std::int64_t count) {
        return {take<T>(count), static_cast<std::size_t>(count)};
    }

  private:
    static void fill(const device::Arena& memory) {
        auto* words = reinterpret_cast<std::uint32_t*>(memory.data());
        const auto count = memory.bytes() / 4;
        for (std::int64_t i = 0; i < count; ++i) {
            const float value = static_cast<float>(i * 2654435761 % 1000003) * 1e-6f + 1e-3f;
            words[i] = std::uint32_t{tensor::bfloat16(value).bits} * 0x10001u;  // one float, or two bfloat16
        }
    }

    device::Arena arena_;
    std::int64_t next_ = 0;
};

}  // namespace ziggurat::perf
