/// Account of ops: converts the executor's records to times by activity, kernel and stall.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "schedule/model_layout.hpp"
#include "train/account/accounting.hpp"
#include "train/account/critical_path.hpp"
#include "train/account/stall_causes.hpp"
#include "train/account/step_report.hpp"
#include "train/account/trace.hpp"
#include "train/ops/save_stream.hpp"
#include "train/step/executor.hpp"
#include "train/step/node_times.hpp"

namespace ziggurat::train {

/// Maps each op of a program to its activity, its kernel, and the stall and name of a wait for it.
class OpAccount {
  public:
    /// \param times  of the ranks of this node, maintained by the executor; outlives this object
    OpAccount(const schedule::Program& program,
              const layout::FamilyTable& table,
              const NodeTimes& times,
              TimeAccounting& account);

    /// Adds the last step of `executor` to the account and to `report`.
    ///
    /// Adds compute and stall seconds, and the causes of the longest stalls. `report` already has the wait
    /// for data. A stall is traced to the lane that was busy, here or on another rank (CriticalPath). Time in
    /// `for_checkpoint`, in which updates waited until a checkpoint had read their state, does not count as
    /// update time.
    void add(const Executor& executor, std::span<const SaveStream::Wait> for_checkpoint, StepReport& report);

    /// Adds the work of `executor` in Executor::finish, when no further step follows.
    void add_rest(const Executor& executor, std::span<const SaveStream::Wait> for_checkpoint);

    /// Returns true if a rank of `num_ranks` can have this stall.
    ///
    /// Data: always. Collectives: if there are other ranks. Another lane: if a rank of this node has it.
    bool can_stall(Stall stall, int num_ranks) const;

    const StallCauses& stall_causes() const noexcept { return causes_; }

    /// Adds `records` to a trace whose lanes are trace_lanes().
    void add_to(Trace& trace, std::span<const LaneRecord> records) const;
    std::vector<std::string> trace_lanes() const;

  private:
    /// Rows of the account that an op counts to.
    struct Category {
        int activity = -1;
        int kernel = -1;  ///< -1: not an op of the compute lane
        int cause = -1;   ///< of waits for this op; -1: only its own lane waits for it
        Stall stall = Stall::collective;
        double flops = 0;
        std::int64_t bytes = 0;  ///< moved between tiers
    };

    void add_computed(std::span<const LaneRecord> records, StepReport& report);
    void add_wait(const CriticalPath::Owner& owner,
                  std::int64_t begin_ns,
                  std::int64_t end_ns,
                  StepReport& report);
    /// Returns the seconds of [begin_ns, end_ns) without the time that op `op`, an update of this rank,
    /// waited for a checkpoint. Adds that time to the account.
    double without_checkpoint(schedule::OpId op, std::int64_t begin_ns, std::int64_t end_ns);
    void add_stall(Stall stall, int cause, double seconds, StepReport& report);

    const schedule::Program& program_;
    const NodeTimes& times_;
    TimeAccounting& account_;
    std::vector<Category> categories_;  ///< by op
    EnumArray<Stall, int, num_stalls> wait_activities_{};
    StallCauses causes_;
    /// [rank of the node][stall]: cause of its lateness; -1: the rank has no such lane.
    std::vector<EnumArray<Stall, int, num_stalls>> late_causes_;
    int data_cause_ = -1;
    int checkpoint_activity_ = -1;
    std::span<const SaveStream::Wait> for_checkpoint_;  ///< of the step
    CriticalPath waits_;
};

}  // namespace ziggurat::train
