/// Tensors of a test in the memory of the computing device.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/copy.hpp"
#include "device/cuda.hpp"
#include "device/device.hpp"
#include "kernels/launch/tensor_address.hpp"
#include "tests/support/device/test_stream.hpp"

namespace ziggurat::test {

/// Returns the device for kernels of a test: the host's cores, or a GPU if the environment selects it.
inline std::shared_ptr<device::Device> device_of_tests(int num_threads) {
    if constexpr (device::has_cuda) {
        if (tests_on_cuda()) {
            return device::cuda::make_device(0, nullptr);
        }
    }
    return device::make_host(num_threads);
}

/// Values in device memory, `shift` bytes after a multiple of 256, between guard bytes that must not
/// change.
template <class T>
class GuardedTensor {
  public:
    GuardedTensor(device::Device& device,
                  const device::Stream& stream,
                  const std::vector<T>& values,
                  std::int64_t shift = 0)
        : stream_{stream},
          count_{std::ssize(values)},
          first_{guard + shift},
          all_{first_ + count_ * size + guard},
          staging_{all_, "staging"},
          pinned_{device.pin(staging_)},
          memory_{device.reserve(all_, "a tensor", device::Arena::Kind::own)} {
        std::fill_n(staging_.data(), all_, canary);
        const auto bytes = std::as_bytes(std::span{values});
        std::ranges::copy(bytes, staging_.data() + first_);
        device::copy(stream_, memory_.data(), staging_.data(), all_);
        stream_.finish();
    }

    kernels::VectorAddress<T> vector() const {
        return kernels::VectorAddress<T>::at(memory_.data() + first_, {count_});
    }
    kernels::TensorAddress<T, 2> matrix(std::int64_t rows, std::int64_t columns) const {
        return vector().template reshaped<2>({rows, columns});
    }
    /// Returns the values after the stream has finished its work.
    std::vector<T> values() {
        device::copy(stream_, staging_.data(), memory_.data(), all_);
        stream_.finish();
        const auto* bytes = staging_.data();
        const auto is_canary = [](std::byte byte) { return byte == canary; };
        EXPECT_TRUE(std::all_of(bytes, bytes + first_, is_canary)) << "something wrote in front of it";
        EXPECT_TRUE(std::all_of(bytes + all_ - guard, bytes + all_, is_canary))
            << "something wrote behind it";
        std::vector<T> found(static_cast<std::size_t>(count_));
        std::copy_n(bytes + first_, count_ * size, std::as_writable_bytes(std::span{found}).begin());
        return found;
    }

  private:
    static constexpr std::int64_t guard = 256;
    static constexpr std::int64_t size = sizeof(T);
    static constexpr std::byte canary{0xA5};

    device::Stream stream_;
    std::int64_t count_, first_, all_;
    device::Arena staging_;
    std::shared_ptr<void> pinned_;
    device::Arena memory_;
};

}  // namespace ziggurat::test
