/// Device: what computes, and whose memory is the device tier.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "device/arena.hpp"
#include "device/stream.hpp"

namespace ziggurat::device {

/// The processor that a rank computes with: the host's cores, or something with memory and time of its own.
class Device {
  public:
    virtual ~Device() = default;
    /// Memory of the device tier. Its addresses are for kernels and copies of this device alone.
    ///
    /// Errors: Error{resource} that names `purpose`
    virtual Arena reserve(std::int64_t bytes, const char* purpose, Arena::Kind kind) = 0;
    /// A new stream.
    virtual Stream make_stream() = 0;
};

/// The host's cores: its streams are done when calls return.
std::shared_ptr<Device> make_host(int num_threads, HostThread* thread = nullptr);

/// What a rank works with.
struct Processors {
    std::shared_ptr<Device> device;
    Stream host;  ///< for kernels on host memory

    /// The host's cores for both.
    static Processors of_host(int num_threads) { return {make_host(num_threads), Stream{num_threads}}; }
};

}  // namespace ziggurat::device
