/// Control groups of this process, as far as they limit memory.
#pragma once

#include <cstdint>
#include <string>

namespace ziggurat {

/// The group, of this process's own and those around it, that grants the least.
struct MemoryGroup {
    std::int64_t granted_bytes = INT64_MAX;  ///< the highest number: any amount
    std::int64_t used_bytes = 0;             ///< without file pages that the kernel gives back by itself
    std::string folder = {};                 ///< of its files, to name it; empty: there is none
    std::string events_file = {};            ///< that counts kills
    std::int64_t kills = 0;  ///< processes that the kernel has killed for want of memory there

    /// Whether the kernel has killed for want of memory since there were `before` kills.
    bool has_killed_since(std::int64_t before) const noexcept {
        return granted_bytes < INT64_MAX && kills > before;
    }
};

/// Of version 1 or 2.
MemoryGroup memory_group();

/// Memory that processes may still take here: what the machine has available, or what that group leaves if it
/// is less. The highest number where neither is known.
std::int64_t available_memory_bytes();

/// Kills of a group in the last seconds: one that is older had nothing to do with what dies now.
class RecentKills {
  public:
    static constexpr std::int64_t window_ns = 10'000'000'000;

    explicit RecentKills(MemoryGroup group = memory_group());

    /// Notes the count, at most once in window_ns; for a thread that is called often. No allocation.
    ///
    /// \param now_ns  monotonic_ns()
    void look(std::int64_t now_ns) noexcept;
    /// True if the kernel has killed within the last one to two windows.
    bool has_killed() const noexcept { return granted_bytes_ < INT64_MAX && count() > earlier_; }

  private:
    std::int64_t count() const noexcept;

    std::string events_;  ///< file with the count
    std::int64_t granted_bytes_;
    std::int64_t latest_, earlier_;  ///< counts of the two looks before
    std::int64_t looked_ns_ = 0;
};

}  // namespace ziggurat
