/// DelayedHost: a device of tests, made of host memory that may not be touched and host kernels that run
/// late.
#pragma once

#include <cstdint>
#include <memory>

#include "device/device.hpp"
#include "device/host_thread.hpp"

namespace ziggurat::device {

class DelayedMemory;
class LateWork;

/// Behaves as badly as a device may. Its arenas have addresses that fault when anybody touches them; kernels
/// and copies go through a mapping of their own. Its streams run what they are given late, each in its own
/// time, and read what they copy when they copy it.
///
/// Tests find with it what the host's own streams forgive: a host reference into device memory, an event that
/// nobody waits for, a kernel on the wrong stream, a buffer used again before its copy has ended.
class DelayedHost final : public Device {
  public:
    /// Who runs the work of its streams.
    enum class Mode {
        threads,  ///< each stream a thread of its own, each piece of work after a random delay
        polled    ///< whoever asks an event or finishes a stream: random pieces of random streams
    };
    struct Options {
        Mode mode = Mode::polled;
        std::uint64_t seed = 0;        ///< of delays and of what runs next
        int num_threads = 1;           ///< of kernels
        HostThread* thread = nullptr;  ///< that runs kernels; with Mode::threads alone, which needs one
        WaitWatch* watch = nullptr;    ///< hears of waits for streams
    };

    /// With Mode::polled, kernels run on the thread that makes it, and other threads run only copies.
    ///
    /// \pre options.thread and options.watch outlive this and all that it makes
    explicit DelayedHost(const Options& options);
    ~DelayedHost() override;

    Arena reserve(std::int64_t bytes, const char* purpose, Arena::Kind kind) override;
    Stream make_stream() override;

  private:
    int num_threads_;
    WaitWatch* watch_;
    std::shared_ptr<DelayedMemory> memory_;
    std::shared_ptr<LateWork> work_;
};

}  // namespace ziggurat::device
