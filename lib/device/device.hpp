/// Device: what computes, and whose memory is the device tier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

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
    /// Has the system keep these pages of the host where the device's copies find them without its help, for
    /// as long as what is returned lives; nothing where copies need no such thing.
    ///
    /// Errors: Error{resource} when the system refuses
    virtual std::shared_ptr<void> pin(std::byte* /*begin*/, std::int64_t /*bytes*/) { return nullptr; }
    /// All of an arena of the host.
    std::shared_ptr<void> pin(const Arena& host) { return pin(host.host_view(), host.bytes()); }
    /// Has copies of these bytes of the host, which are not pinned, go by way of memory that is, for as long
    /// as what is returned lives; nothing where copies need no such thing.
    virtual std::shared_ptr<void> copy_unpinned(std::byte* /*begin*/, std::int64_t /*bytes*/) {
        return nullptr;
    }
    /// A new stream.
    virtual Stream make_stream() = 0;
    /// A new stream whose kernels get multiprocessors before those of make_stream(): for collectives, which
    /// other ranks wait for. Devices without priorities return make_stream().
    virtual Stream make_urgent_stream() { return make_stream(); }
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
