/// Device: the processor of a rank, whose memory is the device tier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/arena.hpp"
#include "device/stream.hpp"

namespace ziggurat::device {

/// Processor that a rank computes with: the host's cores, or a device with its own memory and streams.
class Device {
  public:
    virtual ~Device() = default;
    /// Reserves memory of the device tier. Only kernels and copies of this device use its addresses.
    ///
    /// Errors: Error{resource} that names `purpose`
    virtual Arena reserve(std::int64_t bytes, const char* purpose, Arena::Kind kind) = 0;
    /// Page-locks host memory for the device's copies, for the lifetime of the result.
    ///
    /// Returns nullptr if copies of this device need no pinned memory.
    ///
    /// Errors: Error{resource} if the system refuses
    virtual std::shared_ptr<void> pin(std::byte* /*begin*/, std::int64_t /*bytes*/) { return nullptr; }
    /// Pins a whole arena of the host.
    std::shared_ptr<void> pin(const Arena& host) { return pin(host.host_view(), host.bytes()); }
    /// Makes copies of these unpinned host bytes use a pinned buffer, for the lifetime of the result.
    ///
    /// Returns nullptr if copies of this device need no pinned memory.
    virtual std::shared_ptr<void> copy_unpinned(std::byte* /*begin*/, std::int64_t /*bytes*/) {
        return nullptr;
    }
    /// Creates a stream.
    virtual Stream make_stream() = 0;
    /// Creates a stream whose kernels have priority over those of make_stream().
    ///
    /// For collectives, which other ranks wait for. Devices without priorities return make_stream().
    virtual Stream make_urgent_stream() { return make_stream(); }
};

/// Returns the host's cores as a device. Work of its streams is done when calls return.
std::shared_ptr<Device> make_host(int num_threads, HostThread* thread = nullptr);

/// Processors of a rank: its device and the host.
struct RankDevices {
    std::shared_ptr<Device> device;
    Stream host;  ///< for kernels on host memory

    /// Returns processors with the host's cores as both.
    static RankDevices of_host(int num_threads) { return {make_host(num_threads), Stream{num_threads}}; }
};

}  // namespace ziggurat::device
