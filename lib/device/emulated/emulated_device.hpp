/// EmulatedDevice: an emulated device for tests, with protected memory and asynchronous host kernels.
#pragma once

#include <cstdint>
#include <memory>

#include "device/device.hpp"
#include "device/host_thread.hpp"

namespace ziggurat::device {

class EmulatedMemory;
class EmulatedScheduler;

/// Device that makes errors visible which the host's own streams hide.
///
/// The addresses of its arenas fault on access; kernels and copies use a second mapping. Each stream runs its
/// work late, with its own timing. Copies read their source when they run.
///
/// Tests find these errors with it: a host reference into device memory, a missing wait for an event, a
/// kernel on the wrong stream. They also find a buffer that is reused before its copy has ended.
class EmulatedDevice final : public Device {
  public:
    /// Mode in which the work of its streams runs.
    enum class Mode {
        threads,  ///< each stream on its own thread, each piece of work after a random delay
        polled    ///< in calls that query an event or finish a stream: random pieces of random streams
    };
    struct Options {
        Mode mode = Mode::polled;
        std::uint64_t seed = 0;         ///< of the delays and the order of work
        int num_threads = 1;            ///< of kernels
        HostThread* thread = nullptr;   ///< that runs kernels; required with Mode::threads, else nullptr
        WaitObserver* watch = nullptr;  ///< is notified of waits for streams; may be nullptr
    };

    /// With Mode::polled, kernels run on the constructing thread; other threads run only copies.
    ///
    /// \pre options.thread and options.watch outlive this object and all that it creates
    explicit EmulatedDevice(const Options& options);
    ~EmulatedDevice() override;

    Arena reserve(std::int64_t bytes, const char* purpose, Arena::Kind kind) override;
    Stream make_stream() override;

  private:
    int num_threads_;
    WaitObserver* watch_;
    std::shared_ptr<EmulatedMemory> memory_;
    std::shared_ptr<EmulatedScheduler> work_;
};

}  // namespace ziggurat::device
