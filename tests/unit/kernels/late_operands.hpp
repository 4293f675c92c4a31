/// Arguments of kernels in device memory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/copy.hpp"
#include "device/device.hpp"
#include "kernels/launch/step_inputs.hpp"
#include "kernels/launch/tensor_address.hpp"
#include "tests/support/kernel_data.hpp"

namespace ziggurat::test {

using kernels::TensorAddress;
using kernels::VectorAddress;

/// Device memory for arguments, and scratch memory whose contents are not compared.
class LateOperands {
  public:
    explicit LateOperands(device::Device& device)
        : stream{device.make_stream()},
          staging_{arena_bytes, "staging"},
          pinned_{device.pin(staging_)},
          arena_{device.reserve(arena_bytes, "operands", device::Arena::Kind::own)},
          scratch_{device.reserve(scratch_bytes, "scratch", device::Arena::Kind::own)} {}

    template <class T>
    VectorAddress<T> put(const std::vector<T>& values) {
        const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(T));
        auto* at = arena_.data() + used_;
        std::copy_n(reinterpret_cast<const std::byte*>(values.data()), bytes, staging_.host_view());
        device::copy(stream, at, staging_.host_view(), bytes);
        stream.finish();
        used_ += (bytes + 63) / 64 * 64;
        EXPECT_LE(used_, arena_bytes);
        return VectorAddress<T>::at(at, {std::ssize(values)});
    }
    /// Returns normally distributed numbers, different for each tensor.
    template <class T>
    VectorAddress<T> row(std::int64_t width) {
        return put(normal_values<T>(width, ++seed_));
    }
    template <class T>
    TensorAddress<T, 2> matrix(std::int64_t rows, std::int64_t width) {
        return row<T>(rows * width).template reshaped<2>({rows, width});
    }
    VectorAddress<std::byte> scratch() { return {scratch_.data(), {scratch_bytes}}; }
    kernels::Dropout dropout(std::int64_t sequence) {
        return {.probability = 0.3f,
                .seed = 11,
                .purpose = 5,
                .samples = put(std::vector<std::int64_t>{3, 1ll << 40}),
                .sequence = sequence,
                .inputs = inputs()};
    }
    kernels::ObjectAddress<const kernels::StepInputs> inputs() {
        std::vector<kernels::StepInputs> made(1);  // zeroes the padding, too, which contents() has
        made.front().step = 9;
        made.front().learning_rate = 0.01f;
        made.front().loss_scale = 0.25f;
        return put(made).only();
    }
    /// Keeps an object that a kernel uses until the stream is done.
    template <class Object>
    const Object& keep(Object object) {
        auto kept = std::make_shared<Object>(std::move(object));
        kept_.push_back(kept);
        return *kept;
    }
    /// Returns the current contents of the arena, with pending work not yet done. \pre the host can read it
    std::vector<std::byte> contents() const { return {arena_.host_view(), arena_.host_view() + arena_bytes}; }
    /// Returns the contents when the stream is idle.
    std::vector<std::byte> final_contents() {
        device::copy(stream, staging_.host_view(), arena_.data(), arena_bytes);
        stream.finish();
        return {staging_.host_view(), staging_.host_view() + arena_bytes};
    }

    const device::Stream stream;

  private:
    static constexpr std::int64_t arena_bytes = std::int64_t{1} << 20;
    static constexpr std::int64_t scratch_bytes = std::int64_t{16} << 20;

    device::Arena staging_;
    std::shared_ptr<void> pinned_;
    device::Arena arena_, scratch_;
    std::int64_t used_ = 0;
    std::uint32_t seed_ = 0;
    std::vector<std::shared_ptr<void>> kept_;
};

}  // namespace ziggurat::test
