#include "schedule/derive_dependencies.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "base/contract.hpp"
#include "schedule/transfer_runs.hpp"

namespace ziggurat::schedule {
namespace {

/// The latest op on each lane that is known to be done; -1: none.
using Clock = std::vector<int>;

/// Who wrote the bytes of a range last, and who has read them since.
struct Access {
    int writer = -1;
    std::vector<std::pair<int, int>> readers;  // (lane, its latest op)

    bool operator==(const Access&) const = default;
};

/// The bytes of one arena as ranges of equal history.
class History {
  public:
    template <class Visit>
    void visit(std::int64_t begin, std::int64_t end, Visit&& visit_access) {
        if (begin >= end) {
            return;
        }
        cut(begin);
        cut(end);
        for (auto at = ranges_.lower_bound(begin); at != ranges_.end() && at->first < end; ++at) {
            visit_access(at->second);
        }
        merge(begin, end);
    }

  private:
    /// Makes `at` the start of a range.
    void cut(std::int64_t at) {
        auto next = ranges_.lower_bound(at);
        if (next != ranges_.end() && next->first == at) {
            return;
        }
        ranges_.emplace_hint(next, at, next == ranges_.begin() ? Access{} : std::prev(next)->second);
    }
    /// Joins neighbours of one history, so that the number of ranges stays that of the buffers alive.
    void merge(std::int64_t begin, std::int64_t end) {
        auto at = ranges_.lower_bound(begin);
        if (at != ranges_.begin()) {
            --at;
        }
        while (at != ranges_.end() && at->first <= end) {
            const auto next = std::next(at);
            if (next == ranges_.end() || next->first > end) {
                return;
            }
            if (next->second == at->second) {
                ranges_.erase(next);
            } else {
                at = next;
            }
        }
    }

    std::map<std::int64_t, Access> ranges_;  // begin -> history up to the next begin
};

/// Walks the ops of two steps, numbered through.
class Derivation {
  public:
    explicit Derivation(const Program& program)
        : program_{program},
          num_ops_{static_cast<int>(program.ops.size())},
          lanes_{program.lanes.size()},
          clocks_(2 * program.ops.size()),
          on_lane_(lanes_) {}

    /// The ops that op `i` of the second walk's numbers has to wait for.
    std::vector<int> meet(int i) {
        const auto& op = program_.ops[static_cast<std::size_t>(i % num_ops_)];
        Clock needed(lanes_, -1);
        const auto need = [&](int other) {
            if (other >= 0 && other != i) {
                auto& latest = needed[lane_of(other)];
                latest = std::max(latest, other);
            }
        };
        each_run(op, op.reads, [&](Access& access) {
            need(access.writer);
            note_reader(access, i);
        });
        each_run(op, op.writes, [&](Access& access) {
            need(access.writer);
            for (const auto& [lane, reader] : access.readers) {
                need(reader);
            }
            access.writer = i;
            access.readers.clear();
        });
        return waits(i, needed);
    }

  private:
    std::size_t lane_of(int i) const {
        return static_cast<std::size_t>(program_.ops[static_cast<std::size_t>(i % num_ops_)].lane);
    }

    template <class Visit>
    void each_run(const Op& op, const std::vector<Operand>& operands, Visit&& visit) {
        for (const auto& operand : operands) {
            const auto& buffer = program_.buffers.at(static_cast<std::size_t>(operand.buffer));
            ZG_EXPECTS(buffer.offset >= 0);
            for (const auto& run : operand.runs) {
                const auto [offset, bytes] = touched(op, run);
                const auto begin = buffer.offset + offset;
                arenas_[arena_of(buffer)].visit(begin, begin + bytes, visit);
            }
        }
    }

    void note_reader(Access& access, int i) const {
        const int lane = static_cast<int>(lane_of(i));
        for (auto& [of, latest] : access.readers) {
            if (of == lane) {
                latest = i;
                return;
            }
        }
        access.readers.emplace_back(lane, i);
    }

    static void join(Clock& clock, const Clock& other) {
        for (std::size_t l = 0; l < clock.size(); ++l) {
            clock[l] = std::max(clock[l], other[l]);
        }
    }

    /// The op so many places in front of the next one of a lane; -1: there is none.
    int in_front(std::size_t lane, int places) const {
        const auto& ops = on_lane_[lane];
        return std::ssize(ops) < places ? -1 : ops[ops.size() - static_cast<std::size_t>(places)];
    }

    /// Drops from `needed` what is known to be done, and notes what is known once op `i` is done.
    std::vector<int> waits(int i, const Clock& needed) {
        const auto lane = lane_of(i);
        const bool overlaps = overlaps_itself(program_.lanes[lane].engine);
        const int last = in_front(lane, 1);
        const int done = overlaps ? in_front(lane, most_under_way) : last;
        Clock known = done < 0 ? Clock(lanes_, -1) : clocks_[static_cast<std::size_t>(done)];
        std::vector<int> candidates;
        for (std::size_t l = 0; l < lanes_; ++l) {
            if ((l != lane || overlaps) && needed[l] > known[l]) {
                candidates.push_back(needed[l]);
            }
        }
        // The latest first: what it knows may make earlier ones needless.
        std::sort(candidates.rbegin(), candidates.rend());
        std::vector<int> kept;
        for (const int other : candidates) {
            if (known[lane_of(other)] >= other) {
                continue;
            }
            kept.push_back(other);
            join(known, clocks_[static_cast<std::size_t>(other)]);
        }
        if (overlaps && last >= 0) {
            join(known, clocks_[static_cast<std::size_t>(last)]);
        }
        known[lane] = i;
        clocks_[static_cast<std::size_t>(i)] = std::move(known);
        on_lane_[lane].push_back(i);
        std::sort(kept.begin(), kept.end());
        return kept;
    }

    const Program& program_;
    int num_ops_;
    std::size_t lanes_;
    std::array<History, num_arenas> arenas_;
    std::vector<Clock> clocks_;              // by op: what is done once it is
    std::vector<std::vector<int>> on_lane_;  // those met so far, in order
};

}  // namespace

void derive_dependencies(Program& program) {
    const int num_ops = static_cast<int>(program.ops.size());
    Derivation derivation{program};
    for (int i = 0; i < num_ops; ++i) {
        derivation.meet(i);
    }
    for (int i = 0; i < num_ops; ++i) {
        auto& op = program.ops[static_cast<std::size_t>(i)];
        op.waits_for.clear();
        op.waits_for_previous_step.clear();
        for (const int other : derivation.meet(num_ops + i)) {
            if (other >= num_ops) {
                op.waits_for.push_back(other - num_ops);
            } else {
                op.waits_for_previous_step.push_back(other);
            }
        }
    }
}

}  // namespace ziggurat::schedule
