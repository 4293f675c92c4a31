#include "schedule/verify/check_races.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "schedule/place/lane_tracks.hpp"
#include "schedule/rotated_program.hpp"
#include "schedule/transfer_runs.hpp"

namespace ziggurat::schedule {
namespace {

constexpr std::int64_t apart = std::int64_t{1} << 44;
constexpr std::size_t max_findings = 8;

/// Last writer of a range of bytes and its readers since then, as positions in the walk.
struct Touched {
    std::int64_t end = 0;
    int writer = -1;
    std::vector<int> readers;
};

class Races {
  public:
    explicit Races(const Program& program)
        : program_{program}, num_ops_{static_cast<int>(program.ops.size())}, tracks_{program} {}

    std::vector<Finding> run() {
        const int steps = 2 + runs_in_flight(program_);
        for (int i = 0; i < steps * num_ops_ && found_.size() < max_findings; ++i) {
            if (i % num_ops_ == 0) {
                memory_ = memory_in_run(program_, i / num_ops_);
            }
            set_clocks(i);
            const auto read = [&](Touched& bytes) {
                order(bytes.writer, i, "reads what is written");
                bytes.readers.push_back(i);
            };
            each_run(op(i), op(i).reads, read);
            if (op(i).predicate) {
                each_run(op(i), std::span{&*op(i).predicate, 1}, read);
            }
            each_run(op(i), op(i).writes, [&](Touched& bytes) {
                order(bytes.writer, i, "writes what is written");
                for (const int reader : bytes.readers) {
                    order(reader, i, "writes what is read");
                }
                bytes.writer = i;
                bytes.readers.clear();
            });
        }
        return std::move(found_);
    }

  private:
    const Op& op(int i) const { return program_.ops[i % num_ops_]; }

    /// Computes the clocks of op `i`: by track, the latest position that is done when it begins, and after
    /// it.
    void set_clocks(int i) {
        std::vector<int> clock(tracks_.count(), -1);
        const auto join = [&](int other) {
            if (other < 0) {
                return;
            }
            const auto& known = done_[other];
            for (std::size_t t = 0; t < clock.size(); ++t) {
                clock[t] = std::max(clock[t], known[t]);
            }
        };
        std::ranges::for_each(tracks_.next(), join);
        const int step = i / num_ops_ * num_ops_;
        for (const int w : op(i).waits_for) {
            join(step + w);
        }
        for (const int w : op(i).waits_for_previous_step) {
            join(step - num_ops_ + w);
        }
        begun_.push_back(clock);
        clock[tracks_.track_of(i)] = i;
        done_.push_back(std::move(clock));
    }

    void order(int earlier, int later, const char* what) {
        if (earlier < 0 || earlier == later) {
            return;
        }
        if (begun_[later][tracks_.track_of(earlier)] >= earlier) {
            return;
        }
        const auto name = [&](int i) {
            return "op " + std::to_string(i % num_ops_) + " '" + op(i).label + "'";
        };
        if (found_.size() < max_findings) {
            found_.push_back({FindingKind::race, program_.rank, later % num_ops_,
                              "rank " + std::to_string(program_.rank) + ", " + name(later) + " " + what +
                                  " by " + name(earlier) +
                                  (earlier / num_ops_ == later / num_ops_ ? "" : " of the step before") +
                                  " and does not wait for it"});
        }
    }

    template <class Visitor>
    void each_run(const Op& op, std::span<const Operand> operands, const Visitor& visit) {
        for (const auto& operand : operands) {
            const auto index = memory_[operand.buffer];
            const auto& buffer = program_.buffers[index];
            const bool is_placed = buffer.offset >= 0;
            auto& space = spaces_[is_placed ? static_cast<int>(arena_of(buffer)) : -1];
            const auto base = is_placed ? buffer.offset : apart * index;
            for (const auto& run : operand.runs) {
                const auto [offset, bytes] = touched(op, run);
                each_part(space, base + offset, base + offset + bytes, visit);
            }
        }
    }

    template <class Visitor>
    static void each_part(std::map<std::int64_t, Touched>& space,
                          std::int64_t begin,
                          std::int64_t end,
                          const Visitor& visit) {
        if (begin >= end) {
            return;
        }
        cut(space, begin);
        cut(space, end);
        auto at = space.lower_bound(begin);
        for (auto position = begin; position < end;) {
            if (at == space.end() || at->first > position) {
                const auto gap_end = at == space.end() ? end : std::min(end, at->first);
                at = space.emplace_hint(at, position, Touched{gap_end, -1, {}});
            }
            visit(at->second);
            position = at->second.end;
            ++at;
        }
    }

    static void cut(std::map<std::int64_t, Touched>& space, std::int64_t at) {
        auto after = space.upper_bound(at);
        if (after == space.begin()) {
            return;
        }
        auto& before = *std::prev(after);
        if (before.first < at && at < before.second.end) {
            auto rest = before.second;
            before.second.end = at;
            space.emplace_hint(after, at, std::move(rest));
        }
    }

    const Program& program_;
    int num_ops_;
    LaneTracks tracks_;
    IndexedVector<BufferId, BufferId> memory_;    ///< by buffer: the one whose memory it has in the step
    std::vector<std::vector<int>> begun_, done_;  ///< clocks by position in the walk
    std::map<int, std::map<std::int64_t, Touched>> spaces_;
    std::vector<Finding> found_;
};

}  // namespace

std::vector<Finding> races(const Program& program) {
    return Races{program}.run();
}

}  // namespace ziggurat::schedule
