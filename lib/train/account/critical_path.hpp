/// Critical path: waits of the compute lane, followed to the lane and the rank that was busy.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "schedule/step_program.hpp"
#include "train/step/executor.hpp"
#include "train/step/node_times.hpp"

namespace ziggurat::train {

/// Splits the time between ops of the compute lane into intervals, each with the op of another lane that was
/// under way and on which the next op of the compute lane depended, directly or through others: when that
/// waits for a copy that was held up by a read, the read is named for as long as it took, then the copy. What
/// the thread of the compute lane did for other lanes meanwhile is named where nothing was waited for. No op
/// is named for what the thread needed for itself.
///
/// A collective begins when the last rank of the node has come to it: the wait of the others until then is
/// followed on that rank, through its own waits and those for others before it. A rank of another node
/// keeps another clock and is not followed: waiting for it is waiting for the collective.
///
/// Collective: local. No allocation after construction.
class CriticalPath {
  public:
    /// The op that was busy.
    struct Owner {
        int rank = 0;  ///< of the node
        int op = -1;   ///< of that rank's program
        int via = -1;  ///< the op of this rank's program that was waited for in its place, or that it is
    };
    using Visitor = std::function<void(const Owner& owner, std::int64_t begin_ns, std::int64_t end_ns)>;

    /// \param times  of the ranks of this node, with `program` this rank's; both outlive this
    CriticalPath(const schedule::Program& program, const NodeTimes& times);

    /// The records of one step that lasted from `begin_ns` to `end_ns`. Intervals come in no order and do not
    /// overlap.
    void split(std::span<const LaneRecord> records,
               std::int64_t begin_ns,
               std::int64_t end_ns,
               const Visitor& visitor) const;
    /// The same of the time in which, behind the last op of the compute lane, other lanes came to their end.
    void split_rest(std::span<const LaneRecord> records,
                    std::int64_t begin_ns,
                    std::int64_t end_ns,
                    const Visitor& visitor) const;

  private:
    struct Gap {
        std::int64_t begin_ns = 0;
        std::int64_t end_ns = 0;
    };
    /// The lane that is held up, and its rank.
    struct Waiting {
        int rank = 0;
        int op = -1;  ///< -1: what this rank would have done next
        std::int64_t ready_ns = 0;
        int after = -1;
    };
    struct Arrival {
        CollectiveMatch::Member who;
        OpTimes::Times times;
    };

    /// The time between the ops of the compute lane, since `begin_ns`. Returns since when that lane has
    /// nothing to do.
    std::int64_t split_computed(std::span<const LaneRecord> records,
                                std::int64_t begin_ns,
                                const Visitor& visitor) const;
    const RankTimes& rank(int number) const { return times_.ranks[static_cast<std::size_t>(number)]; }
    bool computes(int number, int op) const;
    /// The rank that came last to the collective of that op; nothing: it is none.
    std::optional<Arrival> last_arrival(int number, int op, std::int64_t step) const;
    void follow(const Gap& gap, Waiting waiting, int via, const Visitor& visitor) const;
    /// Names the work of a rank's thread within the gap; the rest is of `fallback`, -1: of no op.
    void name_work(const Gap& gap, int number, int fallback, int via, const Visitor& visitor) const;

    const NodeTimes& times_;
    int step_end_ = -1;
};

}  // namespace ziggurat::train
