/// Critical path: stalls of the compute lane, traced to the lane and the rank that was busy.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "schedule/step_program.hpp"
#include "train/step/executor.hpp"
#include "train/step/node_times.hpp"

namespace ziggurat::train {

/// Splits the gaps between ops of the compute lane into intervals, each with its cause.
///
/// The cause is an op of another lane that was running, and on which the next op of the compute lane
/// depended directly or through other ops. Example: the compute lane waits for a copy that waited for a read.
/// The first interval then belongs to the read and the second one to the copy. If the compute lane waited for
/// no op, the interval belongs to the work that its thread did for other lanes. Overhead of the thread itself
/// belongs to no op.
///
/// A collective begins when its last rank on the node starts it. The wait of the other ranks until then is
/// traced on that last rank, through its own waits, which can lead to further ranks. Ranks of other nodes
/// have other clocks, so they are not traced: a wait for them counts as a wait for the collective.
///
/// Collective: local. No allocation after construction.
class CriticalPath {
  public:
    /// Op that was busy.
    struct Owner {
        int rank = 0;             ///< index on the node
        schedule::OpId op = -1;   ///< of that rank's program
        schedule::OpId via = -1;  ///< op of this rank's program that this rank waited for, due to `op`
    };
    using Visitor = std::function<void(const Owner& owner, std::int64_t begin_ns, std::int64_t end_ns)>;

    /// \param times  of this node's ranks, including this rank with `program`; both outlive this object
    CriticalPath(const schedule::Program& program, const NodeTimes& times);

    /// Visits the intervals of one step that lasted from `begin_ns` to `end_ns`.
    ///
    /// Intervals come in no particular order and do not overlap.
    void split(std::span<const LaneRecord> records,
               std::int64_t begin_ns,
               std::int64_t end_ns,
               const Visitor& visitor) const;
    /// Same as split, for the time after the last op of the compute lane until all other lanes finished.
    void split_rest(std::span<const LaneRecord> records,
                    std::int64_t begin_ns,
                    std::int64_t end_ns,
                    const Visitor& visitor) const;

  private:
    struct Gap {
        std::int64_t begin_ns = 0;
        std::int64_t end_ns = 0;
    };
    /// Op that was delayed, and its rank.
    struct Waiting {
        int rank = 0;
        schedule::OpId op = -1;  ///< -1: the next op of this rank
        std::int64_t ready_ns = 0;
        schedule::OpId after = -1;
    };
    struct Arrival {
        CollectiveMatch::Member who;
        OpTimes::Times times;
    };

    /// Visits the gaps between the ops of the compute lane since `begin_ns`. Returns when that lane ended.
    std::int64_t split_computed(std::span<const LaneRecord> records,
                                std::int64_t begin_ns,
                                const Visitor& visitor) const;
    const RankTimes& rank(int number) const { return times_.ranks[number]; }
    bool computes(int number, schedule::OpId op) const;
    /// Returns the rank that was last to start this collective; nullopt if the op is not a collective.
    std::optional<Arrival> last_arrival(int number, schedule::OpId op, std::int64_t step) const;
    void follow(const Gap& gap, Waiting waiting, schedule::OpId via, const Visitor& visitor) const;
    /// Attributes the gap to the work of a rank's thread, and the rest to op `fallback`; -1: to no op.
    void name_work(const Gap& gap,
                   int number,
                   schedule::OpId fallback,
                   schedule::OpId via,
                   const Visitor& visitor) const;

    const NodeTimes& times_;
    int step_end_ = -1;
};

}  // namespace ziggurat::train
