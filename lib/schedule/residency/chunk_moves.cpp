#include "schedule/residency/chunk_moves.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "schedule/residency/interval_flow.hpp"

namespace ziggurat::schedule {
namespace {

/// Steps of the capacity in which chunks of different sizes are packed.
constexpr std::int64_t steps_of_capacity = 192;
/// Stays up to which exchanges are tried; their time grows with the square.
constexpr std::size_t max_exchanged = 1024;
constexpr int rounds_of_exchanges = 8;

std::vector<std::vector<int>> uses_by_chunk(const ChunkTrace& trace) {
    std::vector<std::vector<int>> uses(trace.bytes.size());
    for (std::size_t use = 0; use < trace.uses.size(); ++use) {
        uses[trace.uses[use].chunk].push_back(static_cast<int>(use));
    }
    return uses;
}

std::int64_t moved_by_chunk(const ChunkTrace& trace, const std::vector<int>& uses, const ChunkStays& stays) {
    std::int64_t moved = 0;
    std::int64_t changed = 0;
    bool is_present = false;
    for (const int u : uses) {
        const auto& use = trace.uses[u];
        moved += is_present ? 0 : use.fetched;
        changed = std::max(changed, use.written);
        is_present = stays[u];
        if (!is_present) {
            moved += changed;
            changed = 0;
        }
    }
    return moved + changed;
}

class StayChooser {
  public:
    explicit StayChooser(const ChunkTrace& trace)
        : trace_{trace}, uses_{uses_by_chunk(trace)}, stays_(trace.uses.size(), false) {
        find_gaps();
        divide_positions();
    }

    ChunkStays run() {
        choose_by_flow();
        std::vector<std::size_t> order(gaps_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
            return static_cast<double>(gaps_[a].value) * static_cast<double>(bytes(b)) >
                   static_cast<double>(gaps_[b].value) * static_cast<double>(bytes(a));
        });
        for (const auto g : order) {
            if (!stays_[gaps_[g].use] && fits(g)) {
                set(g, true);
            }
        }
        for (int round = 0; round < rounds_of_exchanges && gaps_.size() <= max_exchanged; ++round) {
            bool is_better = false;
            for (std::size_t b = 0; b < bundles_.size(); ++b) {
                is_better = exchange(bundles_[b]) || is_better;
            }
            if (!is_better) {
                break;
            }
        }
        for (std::size_t g = 0; g < gaps_.size(); ++g) {
            if (stays_[gaps_[g].use] && gain(g) <= 0) {
                set(g, false);
            }
        }
        return stays_;
    }

  private:
    /// Time between two uses of a chunk, in which it could stay.
    struct StayGap {
        int use = -1;  ///< the use before it
        int first = 0;
        int last = -1;  ///< positions; none if below `first`
        std::int64_t value = 0;
        int begin = 0;
        int end = 0;  ///< steps of capacity_
    };

    std::int64_t bytes(std::size_t g) const { return trace_.bytes[trace_.uses[gaps_[g].use].chunk]; }

    /// Finds the gaps, their values, and the sets of gaps that save bytes only together.
    void find_gaps() {
        for (const auto& uses : uses_) {
            std::vector<std::size_t> since_change;
            std::int64_t changed = 0;
            for (std::size_t i = 0; i + 1 < uses.size(); ++i) {
                const auto& use = trace_.uses[uses[i]];
                const auto& next = trace_.uses[uses[i + 1]];
                if (use.written > 0) {
                    changed = use.written;
                    since_change.clear();
                }
                if (!use.may_stay) {
                    changed = 0;
                    since_change.clear();
                    continue;
                }
                bundles_.push_back({gaps_.size()});
                since_change.push_back(gaps_.size());
                gaps_.push_back(
                    {.use = uses[i], .first = use.end + 1, .last = next.begin - 1, .value = next.fetched});
                if (next.written > 0 && changed > 0) {
                    const auto saved = std::min(changed, next.written);
                    for (const auto g : since_change) {
                        gaps_[g].value += saved / static_cast<std::int64_t>(since_change.size());
                    }
                    if (since_change.size() > 1) {
                        bundles_.push_back(since_change);
                    }
                }
            }
        }
    }

    /// Divides the positions into steps between which no gap begins or ends.
    void divide_positions() {
        std::vector<int> begins;
        for (const auto& gap : gaps_) {
            if (gap.first <= gap.last) {
                begins.push_back(gap.first);
                begins.push_back(gap.last + 1);
            }
        }
        std::ranges::sort(begins);
        begins.erase(std::ranges::unique(begins).begin(), begins.end());
        const auto step_of = [&](int position) {
            return static_cast<int>(std::ranges::lower_bound(begins, position) - begins.begin());
        };
        for (auto& gap : gaps_) {
            if (gap.first <= gap.last) {
                gap.begin = step_of(gap.first);
                gap.end = step_of(gap.last + 1);
            }
        }
        for (std::size_t step = 0; step + 1 < begins.size(); ++step) {
            const auto free =
                std::min_element(trace_.free.begin() + begins[step], trace_.free.begin() + begins[step + 1]);
            capacity_.push_back(std::max<std::int64_t>(0, *free));
        }
        used_.resize(capacity_.size());
    }

    void choose_by_flow() {
        std::int64_t smallest = 0;
        std::int64_t largest = 0;
        std::vector<std::int64_t> wanted(capacity_.size(), 0);
        for (std::size_t g = 0; g < gaps_.size(); ++g) {
            if (gaps_[g].begin == gaps_[g].end) {
                continue;
            }
            smallest = smallest == 0 ? bytes(g) : std::min(smallest, bytes(g));
            largest = std::max(largest, bytes(g));
            for (int step = gaps_[g].begin; step < gaps_[g].end; ++step) {
                wanted[step] += bytes(g);
            }
        }
        std::int64_t most = 0;
        for (std::size_t step = 0; step < wanted.size(); ++step) {
            most = std::max(most, std::min(wanted[step], capacity_[step]));
        }
        if (most == 0) {
            take_gaps_without_positions();
            return;
        }
        const auto unit = smallest == largest ? largest : std::max<std::int64_t>(1, most / steps_of_capacity);
        std::vector<WeightedInterval> intervals;
        std::vector<std::size_t> of_gap;
        for (std::size_t g = 0; g < gaps_.size(); ++g) {
            if (gaps_[g].begin < gaps_[g].end && gaps_[g].value > 0) {
                intervals.push_back(
                    {gaps_[g].begin, gaps_[g].end, (bytes(g) + unit - 1) / unit, gaps_[g].value / unit});
                of_gap.push_back(g);
            }
        }
        std::vector<std::int64_t> capacity;
        for (std::size_t step = 0; step < wanted.size(); ++step) {
            capacity.push_back(std::min(wanted[step] + unit * std::ssize(gaps_), capacity_[step]) / unit);
        }
        const auto packed = pack_intervals(intervals, capacity);
        for (std::size_t i = 0; i < packed.size(); ++i) {
            if (packed[i] == intervals[i].size) {
                set(of_gap[i], true);
            }
        }
        take_gaps_without_positions();
    }

    /// Chunks whose uses follow each other directly need no memory to stay.
    void take_gaps_without_positions() {
        for (std::size_t g = 0; g < gaps_.size(); ++g) {
            if (gaps_[g].begin == gaps_[g].end) {
                set(g, true);
            }
        }
    }

    void set(std::size_t g, bool stays) {
        stays_[gaps_[g].use] = stays;
        for (int step = gaps_[g].begin; step < gaps_[g].end; ++step) {
            used_[step] += stays ? bytes(g) : -bytes(g);
        }
    }

    bool fits(std::size_t g) const {
        for (int step = gaps_[g].begin; step < gaps_[g].end; ++step) {
            if (used_[step] + bytes(g) > capacity_[step]) {
                return false;
            }
        }
        return true;
    }

    std::int64_t moved(int chunk) const { return moved_by_chunk(trace_, uses_[chunk], stays_); }

    /// Returns the bytes that the stay saves, next to the other stays.
    std::int64_t gain(std::size_t g) {
        const int use = gaps_[g].use;
        const int chunk = trace_.uses[use].chunk;
        const bool stays = stays_[use];
        stays_[use] = false;
        const auto without = moved(chunk);
        stays_[use] = true;
        const auto with = moved(chunk);
        stays_[use] = stays;
        return without - with;
    }

    /// Makes all of `bundle` stay instead of others, if fewer bytes then move. Returns true if so.
    bool exchange(const std::vector<std::size_t>& bundle) {
        const int chunk = trace_.uses[gaps_[bundle.front()].use].chunk;
        const auto before = moved(chunk);
        std::vector<std::size_t> added;
        for (const auto g : bundle) {
            if (!stays_[gaps_[g].use]) {
                set(g, true);
                added.push_back(g);
            }
        }
        if (added.empty()) {
            return false;
        }
        auto saved = before - moved(chunk);
        std::vector<std::size_t> removed;
        for (const auto a : added) {
            for (int step = gaps_[a].begin; step < gaps_[a].end && saved > 0; ++step) {
                while (used_[step] > capacity_[step] && saved > 0) {
                    const auto worst = worst_at(step, bundle);
                    if (worst == gaps_.size()) {
                        saved = 0;
                        break;
                    }
                    saved -= gain(worst);
                    set(worst, false);
                    removed.push_back(worst);
                }
            }
        }
        if (saved > 0) {
            for (const auto g : removed) {
                if (fits(g)) {
                    set(g, true);
                }
            }
            return true;
        }
        for (const auto g : added) {
            set(g, false);
        }
        for (const auto g : removed) {
            set(g, true);
        }
        return false;
    }

    /// Returns the stay over `step`, outside of `bundle`, that saves the fewest bytes for its memory. Of
    /// equal ones, that with the farthest next use; the number of gaps if no stay is over `step`.
    std::size_t worst_at(int step, const std::vector<std::size_t>& bundle) {
        auto worst = gaps_.size();
        double lowest = 0;
        for (std::size_t g = 0; g < gaps_.size(); ++g) {
            const auto& gap = gaps_[g];
            if (!stays_[gap.use] || step < gap.begin || step >= gap.end ||
                std::ranges::count(bundle, g) > 0) {
                continue;
            }
            const double by_byte = static_cast<double>(gain(g)) / static_cast<double>(bytes(g));
            if (worst == gaps_.size() || by_byte < lowest ||
                (by_byte == lowest && gap.end > gaps_[worst].end)) {
                worst = g;
                lowest = by_byte;
            }
        }
        return worst;
    }

    const ChunkTrace& trace_;
    std::vector<std::vector<int>> uses_;  ///< by chunk
    std::vector<StayGap> gaps_;
    std::vector<std::vector<std::size_t>> bundles_;  ///< sets of gaps that are exchanged together
    std::vector<std::int64_t> capacity_, used_;      ///< by step
    ChunkStays stays_;                               ///< by use
};

}  // namespace

std::int64_t moved_bytes(const ChunkTrace& trace, const ChunkStays& stays) {
    std::int64_t moved = 0;
    for (const auto& uses : uses_by_chunk(trace)) {
        moved += moved_by_chunk(trace, uses, stays);
    }
    return moved;
}

ChunkStays choose_stays(const ChunkTrace& trace) {
    return StayChooser{trace}.run();
}

}  // namespace ziggurat::schedule
