/// yield_core: a yield that adapts to the thread that takes the core.
#pragma once

#include <atomic>
#include <cstdint>

namespace ziggurat::comm {

/// Pauses between yields, adapted to the duration of yields.
///
/// Waiting peers return a core within microseconds. An unrelated compute thread keeps it for a whole time
/// slice, so a rank that yields to it a hundred times in a row hardly runs. Therefore a pause without yields
/// follows a long yield, and doubles with the next one. Short yields halve it, because computing peers
/// sometimes keep a core too. Times are nanoseconds of one monotonic clock.
class YieldBackoff {
  public:
    /// Longer than a peer needs for a poll, shorter than a time slice (Linux: about 3 ms).
    static constexpr std::int64_t long_yield_ns = 1'000'000;
    static constexpr std::int64_t first_pause_ns = 1'000'000;
    static constexpr std::int64_t longest_pause_ns = 128'000'000;

    bool may_yield(std::int64_t now) const noexcept {
        return now >= no_yield_before_.load(std::memory_order_relaxed);
    }
    /// \return true if the yield was short
    bool note_yield(std::int64_t begin, std::int64_t end) noexcept;

  private:
    // Shared by all threads of a process, as they share its cores. A race between threads only loses a pause.
    std::atomic<std::int64_t> pause_{0};
    std::atomic<std::int64_t> no_yield_before_{0};
};

/// Yields the core to another thread once, or returns at once during a pause.
///
/// The process's sched_yield() also calls this, and sleeps briefly during the pause: MPI calls that in every
/// blocking call if ranks outnumber cores (yield_core.cpp).
///
/// \return false if the caller should sleep instead
bool yield_core() noexcept;

}  // namespace ziggurat::comm
