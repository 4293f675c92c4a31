/// SampleCopy: copies between a device and the host for bandwidth measurements.
#pragma once

#include <cstdint>
#include <memory>

#include "device/arena.hpp"
#include "device/device.hpp"
#include "device/stream.hpp"

namespace ziggurat::device {

/// Device memory, pinned host memory of the same size, and a stream for copies between them.
class SampleCopy {
  public:
    /// \param bytes  maximum size of a copy
    /// Errors: Error{resource} if memory is insufficient
    SampleCopy(Device& device, std::int64_t bytes);

    /// Starts a copy. Async: until finish(). \pre at most the bytes of construction
    void start(bool to_device, std::int64_t bytes) const;
    void finish() const { stream_.finish(); }

  private:
    Stream stream_;
    Arena on_device_;
    Arena on_host_;
    std::shared_ptr<void> pinned_;
};

}  // namespace ziggurat::device
