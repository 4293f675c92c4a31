/// Operands for benchmarks of kernels that sweep over memory.
#pragma once

#include <cstdint>
#include <span>

#include "device/arena.hpp"
#include "tensor/bfloat16.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::perf {

/// A large arena of numbers between zero and one, dealt out from front to back and again from the front.
class OperandPool {
  public:
    explicit OperandPool(std::int64_t bytes) : arena_{bytes, "operands"} {
        auto* words = reinterpret_cast<std::uint32_t*>(arena_.data());
        const auto count = arena_.bytes() / 4;
        for (std::int64_t i = 0; i < count; ++i) {
            const float value = static_cast<float>(i * 2654435761 % 1000003) * 1e-6f + 1e-3f;
            words[i] = std::uint32_t{tensor::bfloat16(value).bits} * 0x10001u;  // a float, and two bfloat16
        }
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
    device::Arena arena_;
    std::int64_t next_ = 0;
};

}  // namespace ziggurat::perf
