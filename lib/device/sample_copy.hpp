/// SampleCopy: copies between a device and the host, to be timed.
#pragma once

#include <cstdint>
#include <memory>

#include "device/arena.hpp"
#include "device/device.hpp"
#include "device/stream.hpp"

namespace ziggurat::device {

/// Memory of a device, as much of the host that its copies find without help, and a stream for them.
class SampleCopy {
  public:
    /// \param bytes  that a copy may have at most
    /// Errors: Error{resource} when memory is short
    SampleCopy(Device& device, std::int64_t bytes);

    /// Async: until finish(). \pre at most the bytes of construction
    void start(bool to_device, std::int64_t bytes) const;
    void finish() const { stream_.finish(); }

  private:
    Stream stream_;
    Arena on_device_;
    Arena on_host_;
    std::shared_ptr<void> pinned_;
};

}  // namespace ziggurat::device
