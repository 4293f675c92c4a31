/// A yield that looks at who takes the core.
#pragma once

#include <atomic>
#include <cstdint>

namespace ziggurat::comm {

/// Pauses between yields. Peers that wait give a core back within microseconds; a stranger that computes
/// keeps it for a whole time slice, and whoever yields to one a hundred times in a row hardly ever runs. So a
/// yield that took long is followed by a pause without any, and by twice that the next time; short ones halve
/// it, as peers that compute keep a core now and then too. Times are nanoseconds of one steady clock.
class YieldPauses {
  public:
    /// More than a peer needs to look at all that it waits for, less than a time slice (Linux: some 3 ms).
    static constexpr std::int64_t long_yield_ns = 1'000'000;
    static constexpr std::int64_t first_pause_ns = 1'000'000;
    static constexpr std::int64_t longest_pause_ns = 128'000'000;

    bool may_yield(std::int64_t now) const noexcept {
        return now >= no_yield_before_.load(std::memory_order_relaxed);
    }
    /// \return whether that was short
    bool note_yield(std::int64_t begin, std::int64_t end) noexcept;

  private:
    // Of all threads of a process, as they share its cores; what a race between them loses is a pause.
    std::atomic<std::int64_t> pause_{0};
    std::atomic<std::int64_t> no_yield_before_{0};
};

/// Lets another thread have this core once, or returns at once in a pause.
///
/// The process's sched_yield() is made of this too, with a short sleep in the pause: MPI calls that in every
/// blocking call where ranks outnumber cores (give_way.cpp).
///
/// \return false: the caller should sleep instead
bool give_way() noexcept;

}  // namespace ziggurat::comm
