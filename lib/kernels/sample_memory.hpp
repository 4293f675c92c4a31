/// Sample work of kernels that are bound by memory, for timing: copies, updates, norms.
#pragma once

#include <cstdint>

#include "device/arena.hpp"
#include "device/device.hpp"
#include "device/stream.hpp"

namespace ziggurat::kernels {

/// Copies within the memory of a device, or of the host.
class SampleCopies {
  public:
    /// Errors: Error{resource} if memory is insufficient; also in the constructors below
    SampleCopies(device::Device& device, std::int64_t bytes);
    SampleCopies(const device::Stream& host, std::int64_t bytes);

    /// Starts a copy of the bytes of construction. Async: until finish(), also in the classes below
    void start() const;
    void finish() const { stream_.finish(); }

  private:
    void copy(bool is_back) const;

    device::Stream stream_;
    device::Arena memory_;  ///< two vectors
};

/// Updates of parameters with AdamW in host memory.
class SampleUpdates {
  public:
    SampleUpdates(const device::Stream& host, std::int64_t parameters);

    void start() const;
    void finish() const { stream_.finish(); }

  private:
    device::Stream stream_;
    std::int64_t parameters_;
    device::Arena memory_;  ///< master, gradient, both moments, parameters in bf16
};

/// Sums of squares of gradients on a device.
class SampleSquares {
  public:
    SampleSquares(device::Device& device, std::int64_t bytes);

    void start() const;
    void finish() const { stream_.finish(); }

  private:
    device::Stream stream_;
    std::int64_t bytes_;
    device::Arena memory_;  ///< gradients, then their sum
};

}  // namespace ziggurat::kernels
