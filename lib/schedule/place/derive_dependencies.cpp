#include "schedule/place/derive_dependencies.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <vector>

#include "base/contract.hpp"
#include "base/small_vector.hpp"
#include "schedule/place/lane_tracks.hpp"
#include "schedule/rotated_program.hpp"
#include "schedule/transfer_runs.hpp"

namespace ziggurat::schedule {
namespace {

/// By track: the latest op that is known to be done; -1: no op.
using Clock = std::span<int>;

/// Latest op of a track that has read a range.
struct Reader {
    std::size_t track = 0;
    OpId op = -1;

    bool operator==(const Reader&) const = default;
};

/// Last writer of a range, and the readers since then.
struct Access {
    int writer = -1;
    SmallVector<Reader, 3> readers;

    bool operator==(const Access&) const = default;
};

/// Ranges of one arena with equal access history.
class History {
  public:
    template <class Visitor>
    void visit(std::int64_t begin, std::int64_t end, Visitor&& visit_access) {
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

    /// Returns the history of [begin, end), as ranges that begin at 0.
    std::map<std::int64_t, Access> copy(std::int64_t begin, std::int64_t end) {
        cut(begin);
        cut(end);
        std::map<std::int64_t, Access> copied;
        for (auto at = ranges_.lower_bound(begin); at != ranges_.end() && at->first < end; ++at) {
            copied.emplace_hint(copied.end(), at->first - begin, at->second);
        }
        return copied;
    }
    /// Replaces the history of [begin, end).
    void replace(std::int64_t begin, std::int64_t end, const std::map<std::int64_t, Access>& ranges) {
        cut(begin);
        cut(end);
        ranges_.erase(ranges_.lower_bound(begin), ranges_.lower_bound(end));
        for (const auto& [at, access] : ranges) {
            ranges_.emplace(begin + at, access);
        }
    }

  private:
    /// Splits a range, so that a range starts at `at`.
    void cut(std::int64_t at) {
        auto next = ranges_.lower_bound(at);
        if (next != ranges_.end() && next->first == at) {
            return;
        }
        ranges_.emplace_hint(next, at, next == ranges_.begin() ? Access{} : std::prev(next)->second);
    }
    /// Merges adjacent ranges with equal history, so that the number of ranges stays near that of live
    /// buffers.
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

/// Walk over the ops of some steps, with consecutive numbers.
class Derivation {
  public:
    Derivation(const Program& program, int steps)
        : program_{program},
          num_ops_{static_cast<int>(program.ops.size())},
          tracks_{program},
          needed_(tracks_.count()),
          clocks_(steps * program.ops.size() * tracks_.count(), -1) {}

    /// Moves the slots of all rotations on, between two steps.
    void rotate() {
        for (const auto& [slots, shift] : program_.rotations) {
            auto& history = arenas_[arena_of(program_.buffers[slots.front()])];
            std::vector<std::map<std::int64_t, Access>> of_slots;
            for (const BufferId slot : slots) {
                const auto& buffer = program_.buffers[slot];
                of_slots.push_back(history.copy(buffer.offset, buffer.offset + buffer.bytes));
            }
            for (std::size_t i = 0; i < slots.size(); ++i) {
                const auto& buffer = program_.buffers[slots[i]];
                history.replace(buffer.offset, buffer.offset + buffer.bytes,
                                of_slots[(i + static_cast<std::size_t>(shift)) % slots.size()]);
            }
        }
    }

    /// Returns the ops that op `i` has to wait for; numbers include all steps. The result is valid until
    /// the next call.
    const std::vector<int>& meet(int i) {
        const auto& op = program_.ops[i % num_ops_];
        const auto known = clock_of(i);
        for (const int before : tracks_.next()) {
            join(known, clock_of(before));
        }
        std::ranges::fill(needed_, -1);
        const auto need = [&](int other) {
            if (other >= 0 && other != i) {
                auto& latest = needed_[tracks_.track_of(other)];
                latest = std::max(latest, other);
            }
        };
        const auto read = [&](Access& access) {
            need(access.writer);
            note_reader(access, i);
        };
        each_run(op, op.reads, read);
        if (op.predicate) {
            each_run(op, std::span{&*op.predicate, 1}, read);
        }
        each_run(op, op.writes, [&](Access& access) {
            need(access.writer);
            for (const auto& [track, reader] : access.readers) {
                need(reader);
            }
            access.writer = i;
            access.readers.clear();
        });
        return waits(i, known);
    }

  private:
    Clock clock_of(int i) { return Clock{clocks_}.subspan(i * tracks_.count(), tracks_.count()); }

    template <class Visitor>
    void each_run(const Op& op, std::span<const Operand> operands, Visitor&& visit) {
        for (const auto& operand : operands) {
            const auto& buffer = program_.buffers.at(operand.buffer);
            ZG_EXPECTS(buffer.offset >= 0);
            for (const auto& run : operand.runs) {
                const auto [offset, bytes] = touched(op, run);
                const auto begin = buffer.offset + offset;
                arenas_[arena_of(buffer)].visit(begin, begin + bytes, visit);
            }
        }
    }

    void note_reader(Access& access, int i) const {
        const auto track = tracks_.track_of(i);
        for (auto& [of, latest] : access.readers) {
            if (of == track) {
                latest = i;
                return;
            }
        }
        access.readers.push_back({track, i});
    }

    static void join(Clock clock, Clock other) {
        for (std::size_t t = 0; t < clock.size(); ++t) {
            clock[t] = std::max(clock[t], other[t]);
        }
    }

    /// Removes from `needed_` the ops that are already known to be done; records what is known after op
    /// `i`.
    const std::vector<int>& waits(int i, Clock known) {
        candidates_.clear();
        for (std::size_t t = 0; t < needed_.size(); ++t) {
            if (needed_[t] > known[t]) {
                candidates_.push_back(needed_[t]);
            }
        }
        // The latest op comes first: its clock can make earlier waits redundant.
        std::sort(candidates_.rbegin(), candidates_.rend());
        kept_.clear();
        for (const int other : candidates_) {
            if (known[tracks_.track_of(other)] >= other) {
                continue;
            }
            kept_.push_back(other);
            join(known, clock_of(other));
        }
        known[tracks_.track_of(i)] = i;
        std::sort(kept_.begin(), kept_.end());
        return kept_;
    }

    const Program& program_;
    int num_ops_;
    LaneTracks tracks_;
    std::array<History, num_arenas> arenas_;
    std::vector<int> needed_;      // by track: the latest op that the current op has to wait for
    std::vector<int> clocks_;      // by op and track: the ops that are done after it
    std::vector<int> candidates_;  // of waits(), as `kept_`
    std::vector<int> kept_;
};

}  // namespace

void derive_dependencies(Program& program) {
    const int num_ops = static_cast<int>(program.ops.size());
    const int steps = 2 + runs_in_flight(program);  // the last one, and all whose values it can read
    const int last_step = (steps - 1) * num_ops;
    Derivation derivation{program, steps};
    for (int i = 0; i < last_step; ++i) {
        if (i > 0 && i % num_ops == 0) {
            derivation.rotate();
        }
        derivation.meet(i);
    }
    derivation.rotate();
    for (int i = 0; i < num_ops; ++i) {
        auto& op = program.ops[i];
        op.waits_for.clear();
        op.waits_for_previous_step.clear();
        for (const int other : derivation.meet(last_step + i)) {
            if (other >= last_step) {
                op.waits_for.push_back(other - last_step);
            } else {
                op.waits_for_previous_step.push_back(other % num_ops);
            }
        }
        // An op of an earlier step is done if it is done in the previous step.
        std::ranges::sort(op.waits_for_previous_step);
        const auto same = std::ranges::unique(op.waits_for_previous_step);
        op.waits_for_previous_step.erase(same.begin(), same.end());
    }
}

}  // namespace ziggurat::schedule
