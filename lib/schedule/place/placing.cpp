#include "schedule/place/placing.hpp"

#include "base/pages.hpp"

namespace ziggurat::schedule {
namespace {

/// Into so many parts a step is cut to tell when memory was given back: enough, and the free memory stays in
/// few pieces.
constexpr std::int64_t times_told_apart = 1024;

enum class Which { all, of_arenas_that_may_grow };

}  // namespace

/// Transient buffers that begin and end to live at each op.
struct Lives {
    Lives(const Program& program, const std::vector<LiveRange>& ranges, Which which) {
        begins.resize(program.ops.size());
        ends.resize(program.ops.size());
        for (std::size_t b = 0; b < program.buffers.size(); ++b) {
            const auto& buffer = program.buffers[b];
            const bool is_wanted = buffer.lifetime == Lifetime::transient &&
                                   (which == Which::all || bytes_for_one_more[arena_of(buffer)] > 0);
            if (is_wanted && ranges[b].first >= 0) {
                begins[static_cast<std::size_t>(ranges[b].first)].push_back(static_cast<int>(b));
                ends[static_cast<std::size_t>(ranges[b].last)].push_back(static_cast<int>(b));
            }
        }
    }

    std::vector<std::vector<int>> begins, ends;
};

PlacedBuffers Placing::close() const {
    auto free = free_behind_fixed();
    return place(Lives{program_, ranges_, Which::all}, free, 0, Fit::smallest);
}

PlacedBuffers Placing::apart(const RegionSizes& ends) const {
    const Lives lives{program_, ranges_, Which::of_arenas_that_may_grow};
    auto free = free_behind_fixed();
    for (std::size_t r = 0; r < num_regions; ++r) {
        free[r].grow_to(ends[r], -1);
    }
    place(lives, free, 0, Fit::oldest);
    return in_arenas(place(lives, free, 1, Fit::oldest));
}

std::vector<FreeList> Placing::free_behind_fixed() const {
    std::vector<FreeList> free;
    for (const auto end : fixed_) {
        free.emplace_back(round_up_to_page(end));
    }
    return free;
}

PlacedBuffers Placing::place(const Lives& lives, std::vector<FreeList>& free, int round, Fit fit) const {
    PlacedBuffers made{std::vector<std::int64_t>(program_.buffers.size(), -1), {}};
    const auto num_ops = std::ssize(program_.ops);
    for (std::int64_t i = 0; i < num_ops; ++i) {
        for (const int index : lives.begins[static_cast<std::size_t>(i)]) {
            const auto b = static_cast<std::size_t>(index);
            made.offsets[b] = free[regions_[b]].take(room_[b].bytes, room_[b].alignment, fit);
        }
        for (const int index : lives.ends[static_cast<std::size_t>(i)]) {
            const auto b = static_cast<std::size_t>(index);
            const auto time =
                fit == Fit::oldest ? round * times_told_apart + i * times_told_apart / num_ops : 0;
            free[regions_[b]].give_back(made.offsets[b], room_[b].bytes, time);
        }
    }
    for (std::size_t r = 0; r < num_regions; ++r) {
        made.ends[r] = free[r].end();
    }
    return made;
}

PlacedBuffers Placing::in_arenas(PlacedBuffers placed) const {
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
