/// Whom the compute lane waited for: the chain of waits, followed to the lane that was busy.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "schedule/step_program.hpp"
#include "train/executor.hpp"

namespace ziggurat::train {

/// Splits the time between ops of the compute lane into stretches, each with the op of another lane that was
/// under way and on which the next op of the compute lane depended, directly or through others: when that
/// waits for a copy that was held up by a read, the read is named for as long as it took, then the copy. What
/// the thread of the compute lane did for other lanes meanwhile is named where nothing was waited for. No op
/// is named for what the thread needed for itself.
///
/// Collective: local. No allocation after construction.
class WaitChain {
  public:
    using Blame = std::function<void(int op, std::int64_t begin_ns, std::int64_t end_ns)>;

    explicit WaitChain(const schedule::Program& program);

    /// The records of one step that lasted from `begin_ns` to `end_ns`. Stretches come in no order and do not
    /// overlap.
    void split(std::span<const LaneRecord> records,
               std::int64_t begin_ns,
               std::int64_t end_ns,
               const Blame& blame);

  private:
    struct Gap {
        std::int64_t begin_ns = 0;
        std::int64_t end_ns = 0;
    };

    /// The record of the latest time that `op` was done and had begun before `time_ns`; nothing: not in this
    /// step.
    const LaneRecord* record_of(int op, std::int64_t time_ns) const;
    void follow(const Gap& gap, const LaneRecord& next, const Blame& blame);
    /// What the thread did within [begin_ns, end_ns) for other lanes; the rest is of `fallback`, -1: nobody.
    void name_work(std::int64_t begin_ns, std::int64_t end_ns, int fallback, const Blame& blame);

    std::vector<bool> computes_;  ///< by op: on the compute lane
    int step_end_ = -1;
    std::span<const LaneRecord> records_;
    std::vector<int> latest_, before_;  ///< by op: indices of its records, -1: none
    std::vector<int> work_;             ///< records of what the thread did for other lanes, by time
};

}  // namespace ziggurat::train
