#include "schedule/place/buffer_placer.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "base/pages.hpp"
#include "schedule/place/pack_buffers.hpp"

namespace ziggurat::schedule {
namespace {

/// Number of intervals into which release times of a step are rounded: enough for the choice by age,
/// and few enough to keep free memory in large ranges.
constexpr std::int64_t distinct_times = 1024;

/// Regions whose buffers are placed.
enum class Which { all, of_arenas_that_may_grow, of_host };

constexpr bool is_on_host(std::size_t region) {
    return region == of_passes || tier_of_arena(region) == spec::Tier::host;
}

/// Buffers grouped by op, in one array, because an op has few.
class BuffersByOp {
  public:
    /// \param ops  by buffer: its op; -1: none
    BuffersByOp(std::size_t num_ops, const std::vector<int>& ops) : begins_(num_ops + 1) {
        for (const OpId op : ops) {
            if (op >= 0) {
                ++begins_[op + 1];
            }
        }
        std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
        buffers_.resize(begins_.back());
        auto next = begins_;
        for (std::size_t b = 0; b < ops.size(); ++b) {
            if (ops[b] >= 0) {
                buffers_[next[ops[b]]++] = static_cast<int>(b);
            }
        }
    }

    std::span<const int> of(std::int64_t op) const {
        const std::size_t i = op;
        return {buffers_.data() + begins_[i], begins_[i + 1] - begins_[i]};
    }

  private:
    std::vector<std::size_t> begins_;  ///< by op, in buffers_
    std::vector<int> buffers_;
};

/// Returns the first or last op of each selected transient buffer; -1 for all others.
std::vector<int> ops_of_wanted(const Program& program,
                               const std::vector<LiveRange>& ranges,
                               Which which,
                               int LiveRange::*end) {
    std::vector<int> ops(program.buffers.size(), -1);
    for (std::size_t b = 0; b < ops.size(); ++b) {
        const auto& buffer = program.buffers[b];
        const auto arena = arena_of(buffer);
        if (buffer.lifetime == Lifetime::transient &&
            (which == Which::all || (which == Which::of_host && is_on_host(arena)) ||
             (which == Which::of_arenas_that_may_grow && bytes_for_one_more[arena] > 0))) {
            ops[b] = ranges[b].*end;
        }
    }
    return ops;
}

}  // namespace

/// Transient buffers whose live range begins or ends at each op.
struct TransientLifetimes {
    TransientLifetimes(const Program& program, const std::vector<LiveRange>& ranges, Which which)
        : begins{program.ops.size(), ops_of_wanted(program, ranges, which, &LiveRange::first)},
          ends{program.ops.size(), ops_of_wanted(program, ranges, which, &LiveRange::last)} {}

    BuffersByOp begins, ends;
};

/// Arenas of the device. The host has free memory on purpose, and packing would slow down searches.
constexpr std::array<std::size_t, 2> regions_of_device{0, 3};
static_assert(std::ranges::all_of(regions_of_device,
                                  [](std::size_t r) { return tier_of_arena(r) == spec::Tier::device; }));

PlacedBuffers BufferPlacer::close(const RegionSizes& min) const {
    auto free = free_after_fixed();
    auto placed = place(TransientLifetimes{program_, ranges_, Which::all}, free, 0, FitPolicy::smallest);
    for (const std::size_t r : regions_of_device) {
        // Fixed buffers do not count: with them, more layers would allow more holes.
        const auto live = min[r] - round_up_to_page(fixed_[r]);
        const auto enough = min[r] + std::max(live / bytes_for_one_of_holes, small_holes);
        if (placed.ends[r] > enough) {
            pack(r, enough, placed);
        }
    }
    return placed;
}

RegionSizes BufferPlacer::close_on_host(RegionSizes ends) const {
    auto free = free_after_fixed();
    const TransientLifetimes lives{program_, ranges_, Which::of_host};
    const auto placed = place(lives, free, 0, FitPolicy::smallest);
    for (std::size_t r = 0; r < num_regions; ++r) {
        ends[r] = is_on_host(r) ? placed.ends[r] : ends[r];
    }
    return ends;
}

PlacedBuffers BufferPlacer::apart(const RegionSizes& ends) const {
    const TransientLifetimes lives{program_, ranges_, Which::of_arenas_that_may_grow};
    auto free = free_after_fixed();
    for (std::size_t r = 0; r < num_regions; ++r) {
        free[r].grow_to(ends[r], -1);
    }
    place(lives, free, 0, FitPolicy::oldest);
    return in_arenas(place(lives, free, 1, FitPolicy::oldest));
}

std::vector<FreeList> BufferPlacer::free_after_fixed() const {
    std::vector<FreeList> free;
    for (const auto end : fixed_) {
        free.emplace_back(round_up_to_page(end));
    }
    return free;
}

RegionSizes BufferPlacer::min_ends() const {
    std::vector<RegionSizes> change(program_.ops.size() + 1);
    for (std::size_t b = 0; b < ranges_.size(); ++b) {
        if (is_placed(b)) {
            change[ranges_[b].first][regions_[b]] += room_[b].bytes;
            change[ranges_[b].last + 1][regions_[b]] -= room_[b].bytes;
        }
    }
    RegionSizes now{};
    RegionSizes max{};
    for (const auto& by_region : change) {
        for (std::size_t r = 0; r < num_regions; ++r) {
            now[r] += by_region[r];
            max[r] = std::max(max[r], now[r]);
        }
    }
    for (std::size_t r = 0; r < num_regions; ++r) {
        max[r] += round_up_to_page(fixed_[r]);
    }
    return max;
}

void BufferPlacer::pack(std::size_t region, std::int64_t enough, PlacedBuffers& placed) const {
    std::vector<std::size_t> indices;
    std::vector<BufferToPack> buffers;
    for (std::size_t b = 0; b < ranges_.size(); ++b) {
        if (regions_[b] == region && is_placed(b)) {
            indices.push_back(b);
            buffers.push_back({ranges_[b], room_[b].bytes, room_[b].alignment});
        }
    }
    const auto packed = pack_buffers(std::move(buffers), round_up_to_page(fixed_[region]), enough);
    // A packing is better or worse by chance. With the same holes for all, memory grows evenly with what
    // lives.
    const auto end = round_up_to_page(std::max(packed.end, enough));
    if (end < placed.ends[region]) {
        placed.ends[region] = end;
        for (std::size_t i = 0; i < indices.size(); ++i) {
            placed.offsets[indices[i]] = packed.offsets[i];
        }
    }
}

bool BufferPlacer::is_placed(std::size_t buffer) const {
    return program_.buffers[buffer].lifetime == Lifetime::transient && ranges_[buffer].first >= 0 &&
           room_[buffer].bytes > 0;
}

PlacedBuffers BufferPlacer::place(const TransientLifetimes& lives,
                                  std::vector<FreeList>& free,
                                  int round,
                                  FitPolicy fit) const {
    PlacedBuffers made{std::vector<std::int64_t>(program_.buffers.size(), -1), {}};
    const auto num_ops = std::ssize(program_.ops);
    for (std::int64_t i = 0; i < num_ops; ++i) {
        for (const int index : lives.begins.of(i)) {
            const std::size_t b = index;
            made.offsets[b] = free[regions_[b]].take(room_[b].bytes, room_[b].alignment, fit);
        }
        for (const int index : lives.ends.of(i)) {
            const std::size_t b = index;
            const auto time =
                fit == FitPolicy::oldest ? round * distinct_times + i * distinct_times / num_ops : 0;
            free[regions_[b]].release(made.offsets[b], room_[b].bytes, time);
        }
    }
    for (std::size_t r = 0; r < num_regions; ++r) {
        made.ends[r] = free[r].end();
    }
    return made;
}

PlacedBuffers BufferPlacer::in_arenas(PlacedBuffers placed) const {
    const auto begin = round_up_to_page(placed.ends[host_arena]);
    for (std::size_t b = 0; b < regions_.size(); ++b) {
        placed.offsets[b] += regions_[b] == of_passes ? begin : 0;
    }
    if (placed.ends[of_passes] > 0) {
        placed.ends[host_arena] = begin + placed.ends[of_passes];
    }
    return placed;
}

}  // namespace ziggurat::schedule
