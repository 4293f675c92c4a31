#include "schedule/chunk_residency.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "schedule/place/place_buffers.hpp"
#include "schedule/residency/chunk_moves.hpp"

namespace ziggurat::schedule {
namespace {

using spec::Tier;

constexpr std::array<std::size_t, 2> device_arenas{0, 3};
static_assert(tier_of_arena(device_arenas[0]) == Tier::device &&
              tier_of_arena(device_arenas[1]) == Tier::device);

/// Number of placements that are tried.
constexpr int max_placements = 6;
/// Bytes that are left for holes, as 1/n of the device's memory: the largest value, and the accuracy.
constexpr int max_part_for_holes = 4;
constexpr int part_for_holes = 64;

/// Chooser of stays, from the program with static movement.
class ChunkChooser {
  public:
    ChunkChooser(const PlacedState& fixed, std::int64_t device_bytes)
        : fixed_{fixed}, ranges_{live_ranges(fixed.program)} {
        spare_ = std::max<std::int64_t>(0, device_bytes - fixed.program.tier_bytes(Tier::device));
        for (const auto& residency : fixed.on_device) {
            const auto arena = arena_of(fixed.program.buffers[residency.buffer]);
            wanted_[arena] += residency.next >= 0 ? residency.fetched + residency.written : 0;
        }
    }

    bool has_any() const { return wanted_[device_arenas[0]] + wanted_[device_arenas[1]] > 0; }

    /// Returns stays, by residency, that leave `held_back` of the free bytes of each arena unused.
    std::vector<bool> choose(std::int64_t held_back) const {
        std::vector<bool> stays;
        const auto with_spare =
            wanted_[device_arenas[0]] >= wanted_[device_arenas[1]] ? device_arenas[0] : device_arenas[1];
        for (const auto arena : device_arenas) {
            if (wanted_[arena] > 0) {
                choose_in(arena, (arena == with_spare ? spare_ : 0) - held_back, stays);
            }
        }
        return stays;
    }

  private:
    /// Returns the bytes of an arena that are free at each op.
    std::vector<std::int64_t> free_bytes(std::size_t arena, std::int64_t more) const {
        const auto& program = fixed_.program;
        std::int64_t end_of_fixed = 0;
        std::vector<std::int64_t> change(program.ops.size() + 1);
        for (std::size_t b = 0; b < program.buffers.size(); ++b) {
            const auto& buffer = program.buffers[b];
            if (arena_of(buffer) != arena) {
                continue;
            }
            if (buffer.lifetime != Lifetime::transient) {
                end_of_fixed = std::max(end_of_fixed, buffer.offset + buffer.bytes);
            } else if (ranges_[b].first >= 0) {
                change[ranges_[b].first] += buffer.bytes;
                change[ranges_[b].last + 1] -= buffer.bytes;
            }
        }
        std::vector<std::int64_t> free(program.ops.size());
        std::int64_t live = end_of_fixed - more;
        for (std::size_t op = 0; op < free.size(); ++op) {
            live += change[op];
            free[op] = program.arena_bytes[arena] - live;
        }
        return free;
    }

    void choose_in(std::size_t arena, std::int64_t more, std::vector<bool>& stays) const {
        ChunkTrace trace{.bytes = {}, .uses = {}, .free = free_bytes(arena, more)};
        std::map<int, int> chunk_of;  // by residency, which continues that of an earlier one
        std::vector<int> of_use;
        for (const auto& residency : fixed_.on_device) {
            stays.resize(std::max<std::size_t>(stays.size(), residency.residency + 1));
            const auto& buffer = fixed_.program.buffers[residency.buffer];
            if (arena_of(buffer) != arena) {
                continue;
            }
            const auto [known, is_new] =
                chunk_of.try_emplace(residency.residency, static_cast<int>(trace.bytes.size()));
            const int chunk = known->second;
            if (is_new) {
                trace.bytes.push_back(0);
            }
            if (residency.next >= 0) {
                chunk_of[residency.next] = chunk;
            }
            trace.bytes[chunk] = std::max(trace.bytes[chunk], buffer.bytes);
            const auto& range = ranges_[residency.buffer];
            trace.uses.push_back(
                {chunk, range.first, range.last, residency.fetched, residency.written, residency.next >= 0});
            of_use.push_back(residency.residency);
        }
        reserve_growth(trace, of_use);
        const auto chosen = choose_stays(trace);
        for (std::size_t use = 0; use < chosen.size(); ++use) {
            stays[of_use[use]] = chosen[use];
        }
    }

    /// Takes from the free memory what uses need in addition if their buffer is as large as that of their
    /// chunk. A use without that memory does not become part of a longer stay.
    void reserve_growth(ChunkTrace& trace, const std::vector<int>& of_use) const {
        std::map<int, std::int64_t> bytes_of;  // by residency
        for (const auto& residency : fixed_.on_device) {
            bytes_of[residency.residency] = fixed_.program.buffers[residency.buffer].bytes;
        }
        std::vector<int> previous(trace.bytes.size(), -1);
        for (std::size_t u = 0; u < trace.uses.size(); ++u) {
            auto& use = trace.uses[u];
            const auto growth = trace.bytes[use.chunk] - bytes_of[of_use[u]];
            const auto begin = trace.free.begin() + use.begin;
            const auto end = trace.free.begin() + use.end + 1;
            if (growth > 0 && *std::min_element(begin, end) < growth) {
                use.may_stay = false;
                if (previous[use.chunk] >= 0) {
                    trace.uses[previous[use.chunk]].may_stay = false;
                }
            } else if (growth > 0) {
                std::for_each(begin, end, [&](std::int64_t& free) { free -= growth; });
            }
            previous[use.chunk] = static_cast<int>(u);
        }
    }

    const PlacedState& fixed_;
    std::vector<LiveRange> ranges_;
    std::int64_t spare_ = 0;                         ///< bytes of the budget that no arena has
    std::array<std::int64_t, num_arenas> wanted_{};  ///< bytes that would not move if all could stay
};

}  // namespace

Program with_chunks_on_device(const ProgramBuilder& draft,
                              const MoveState& move_state,
                              std::int64_t device_bytes) {
    auto fixed = move_state(draft, {});
    const ChunkChooser chooser{fixed, device_bytes};
    const auto max_device = std::max(device_bytes, fixed.program.tier_bytes(Tier::device));
    const auto max_host = fixed.program.tier_bytes(Tier::host);
    std::optional<Program> found;
    std::int64_t too_little = -1;
    std::int64_t enough = max_device / max_part_for_holes;
    std::int64_t held_back = 0;
    for (int placement = 0; placement < max_placements && chooser.has_any(); ++placement) {
        const auto stays = chooser.choose(held_back);
        auto made = move_state(draft, stays).program;
        const auto excess = made.tier_bytes(Tier::device) - max_device;
        if (excess <= 0 && made.tier_bytes(Tier::host) <= max_host) {
            found = std::move(made);
            enough = held_back;
        } else {
            too_little = held_back;
        }
        if (found && (too_little < 0 || enough - too_little <= max_device / part_for_holes)) {
            break;
        }
        held_back = placement == 0 ? std::max(excess, max_device / part_for_holes)
                                   : too_little + (enough - too_little) / 2;
    }
    if (found) {
        return *std::move(found);
    }
    return std::move(fixed.program);
}

}  // namespace ziggurat::schedule
