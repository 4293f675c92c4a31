/// Memory limits of this process's control groups.
#pragma once

#include <cstdint>
#include <string>

namespace ziggurat {

/// Control group with the lowest memory limit among the process's own group and its ancestors.
struct MemoryGroup {
    std::int64_t granted_bytes = INT64_MAX;  ///< INT64_MAX: no limit
    std::int64_t used_bytes = 0;             ///< without file pages that the kernel can reclaim
    std::string folder = {};       ///< folder of its files, for messages; empty if no group was found
    std::string events_file = {};  ///< file that counts out-of-memory kills
    /// Processes of the group that the kernel has killed because memory ran out.
    std::int64_t kills = 0;

    /// True if the kernel has killed a process since the count of kills was `before`.
    bool has_killed_since(std::int64_t before) const noexcept {
        return granted_bytes < INT64_MAX && kills > before;
    }
};

/// Returns the group that limits this process, of version 1 or 2 of control groups.
MemoryGroup memory_group();

/// Returns the memory that processes may still allocate here.
///
/// This is the memory available on the node, or the rest of the group's limit if that is less; INT64_MAX if
/// neither is known.
std::int64_t available_memory_bytes();

/// Out-of-memory kills of a group in the last seconds. Older kills did not cause a process to die now.
class RecentKills {
  public:
    static constexpr std::int64_t window_ns = 10'000'000'000;

    explicit RecentKills(MemoryGroup group = memory_group());

    /// Updates the count, at most once in window_ns; for a thread that calls it often. Does not allocate.
    ///
    /// \param now_ns  monotonic_ns()
    void refresh(std::int64_t now_ns) noexcept;
    /// True if the kernel has killed a process within the last one to two windows.
    bool has_killed() const noexcept { return granted_bytes_ < INT64_MAX && count() > earlier_; }

  private:
    std::int64_t count() const noexcept;

    std::string events_;  ///< file with the count
    std::int64_t granted_bytes_;
    std::int64_t latest_, earlier_;  ///< counts of the last two calls of refresh()
    std::int64_t looked_ns_ = 0;
};

}  // namespace ziggurat
