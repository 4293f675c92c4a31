/// Scheduler of the streams of a EmulatedDevice: what runs next, and on which thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "device/emulated/emulated_device.hpp"

namespace ziggurat::device {

/// Recorded event: a position in a stream. It can be recorded any number of times.
struct EmulatedEvent {
    std::uint64_t recorded = 0;  ///< number of recordings by the calling thread
    std::uint64_t reached = 0;   ///< number of the last recording that the stream has reached
    std::int64_t time_ns = 0;
    std::exception_ptr error = nullptr;  ///< of earlier work in the stream
};

/// Pending work of one stream, in order.
struct StreamFifo {
    struct Piece {
        enum class Kind { kernel, copy, record, wait };
        Kind kind = Kind::kernel;
        std::function<void()> run = {};                      ///< of a kernel or a copy
        std::shared_ptr<EmulatedEvent> milestone = nullptr;  ///< of a recording or a wait
        std::uint64_t number = 0;                            ///< number of the recording
    };
    std::deque<Piece> pieces = {};       ///< the first one may be running
    std::exception_ptr error = nullptr;  ///< if set, later work is skipped
    bool is_ending = false;
    std::condition_variable changed = {};  ///< for the thread of the line
};

/// All work of the streams of one EmulatedDevice. Thread-safe.
class EmulatedScheduler {
  public:
    explicit EmulatedScheduler(const EmulatedDevice::Options& options);

    void add(StreamFifo& line);     ///< registers a stream
    void remove(StreamFifo& line);  ///< returns when the work of the stream is done
    void push(StreamFifo& line, StreamFifo::Piece piece);
    /// Increments the number of the milestone's recording.
    void record(StreamFifo& line, const std::shared_ptr<EmulatedEvent>& milestone);
    void wait_for(StreamFifo& line, const std::shared_ptr<EmulatedEvent>& milestone);
    /// Returns when the line is empty. Errors: rethrows an exception of its work
    void finish(StreamFifo& line);
    /// Returns when all lines are empty.
    void drain();
    /// True if the last recording of the milestone was reached. With polled work, runs some pieces first.
    ///
    /// Errors: rethrows an exception of earlier work in its stream
    bool is_done(const EmulatedEvent& milestone);
    std::int64_t time_ns(const EmulatedEvent& milestone);
    /// Body of the thread of a line; returns when the line ends.
    void run_line(StreamFifo& line);
    bool has_threads() const noexcept { return thread_ != nullptr; }

  private:
    using Lock = std::unique_lock<std::mutex>;

    bool can_begin(const StreamFifo::Piece& piece) const;
    /// Runs one random piece that can begin. Returns false if no piece can run on this thread.
    bool run_some();
    /// Runs pieces, or waits for the threads that run them, until `is_enough`.
    void go_on_until(Lock& lock, const std::function<bool()>& is_enough);
    /// Runs the first piece. Unlocks `lock`, if given, while the piece runs.
    void run_first(StreamFifo& line, Lock* lock);
    /// Notifies the lines that wait for the milestone.
    void report_of(const EmulatedEvent& milestone);
    std::int64_t draw_delay_ns();

    HostThread* thread_;
    std::thread::id owner_ = std::this_thread::get_id();
    std::mutex mutex_;
    std::condition_variable some_ended_;  ///< lines are empty or, with polled work, pieces are done
    std::mt19937_64 random_;
    std::vector<StreamFifo*> lines_;
};

}  // namespace ziggurat::device
