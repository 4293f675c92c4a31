/// Work of the streams of a DelayedHost: what runs next, and who runs it.
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

#include "device/delayed/delayed_host.hpp"

namespace ziggurat::device {

/// A place in a stream, recorded any number of times.
struct Milestone {
    std::uint64_t recorded = 0;  ///< of the thread that calls
    std::uint64_t reached = 0;   ///< of those recorded, the last that was come to
    std::int64_t time_ns = 0;
    std::exception_ptr error = nullptr;  ///< of work in front of it
};

/// Work of one stream that has not been done, in order.
struct LateLine {
    struct Piece {
        enum class Kind { kernel, copy, record, wait };
        Kind kind = Kind::kernel;
        std::function<void()> run = {};                  ///< of a kernel or a copy
        std::shared_ptr<Milestone> milestone = nullptr;  ///< of the others
        std::uint64_t number = 0;                        ///< which of the times that it was recorded
    };
    std::deque<Piece> pieces = {};       ///< the first one may be under way
    std::exception_ptr error = nullptr;  ///< nothing runs any more
    bool is_ending = false;
    std::condition_variable news = {};  ///< for the thread of the line
};

/// All that streams of one DelayedHost have been given. Any thread may call.
class LateWork {
  public:
    explicit LateWork(const DelayedHost::Options& options);

    void add(LateLine& line);     ///< a stream begins
    void remove(LateLine& line);  ///< returns when what it was given is done
    void push(LateLine& line, LateLine::Piece piece);
    /// Numbers the times that a milestone is recorded.
    void record(LateLine& line, const std::shared_ptr<Milestone>& milestone);
    void wait_for(LateLine& line, const std::shared_ptr<Milestone>& milestone);
    /// Returns when the line is done. Errors: what its work has thrown
    void finish(LateLine& line);
    /// Returns when all lines are done.
    void drain();
    /// Whether the milestone, as it was recorded last, was come to. Where work is polled, runs some.
    ///
    /// Errors: what work in front of it has thrown
    bool is_done(const Milestone& milestone);
    std::int64_t time_ns(const Milestone& milestone);
    /// Body of the thread of a line, until the line ends.
    void run_line(LateLine& line);
    bool has_threads() const noexcept { return thread_ != nullptr; }

  private:
    using Lock = std::unique_lock<std::mutex>;

    bool can_begin(const LateLine::Piece& piece) const;
    /// Runs one random piece of those that can begin; false when there is none that this thread may run.
    bool run_some();
    /// Runs, or waits for those that run, until `is_enough`.
    void go_on_until(Lock& lock, const std::function<bool()>& is_enough);
    /// Does the first piece. What takes time is done without `lock`, where one is given.
    void run_first(LateLine& line, Lock* lock);
    /// Tells the lines that wait for it.
    void tell_of(const Milestone& milestone);
    std::int64_t draw_delay_ns();

    HostThread* thread_;
    std::thread::id owner_ = std::this_thread::get_id();
    std::mutex mutex_;
    std::condition_variable some_ended_;  ///< of the lines, or of their pieces where those are polled
    std::mt19937_64 random_;
    std::vector<LateLine*> lines_;
};

}  // namespace ziggurat::device
