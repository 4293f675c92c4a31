/// Accounting of ops: from the records of the executor to times by activity, kernel and stall.
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
#include "train/step/executor.hpp"
#include "train/step/node_times.hpp"
#include "train/step/save_stream.hpp"

namespace ziggurat::train {

/// Knows, for each op of a program, which activity and kernel it counts to, which stall waiting for it is and
/// what that wait is called.
class OpAccount {
  public:
    /// \param times  of the ranks of this node, which the executor keeps; outlives this
    OpAccount(const schedule::Program& program,
              const layout::FamilyTable& table,
              const NodeTimes& times,
              Account& account);

    /// Adds the last step of `executor`, and its wait for data that is in `report` already, to the account
    /// and to `report`: compute and stall seconds, and the causes of the longest stalls. What the compute
    /// lane waited for is followed to the lane that was busy, here or on another rank (CriticalPath).
    /// Waits of updates for a checkpoint to take their state, `for_checkpoint`, are no work of theirs.
    void add(const Executor& executor, std::span<const SaveStream::Wait> for_checkpoint, StepReport& report);

    /// Adds what `executor` did in Executor::finish, when no other step was to be begun.
    void add_rest(const Executor& executor, std::span<const SaveStream::Wait> for_checkpoint);

    /// Whether a rank of `num_ranks` may have to wait for it: for the batch always, for collectives where
    /// there are others, for another lane where one of this node's ranks has it.
    bool can_stall(Stall stall, int num_ranks) const;

    const StallCauses& stall_causes() const noexcept { return causes_; }

    /// Adds them to a trace whose lanes are trace_lanes().
    void add_to(Trace& trace, std::span<const LaneRecord> records) const;
    std::vector<std::string> trace_lanes() const;

  private:
    /// The lines of the account that an op counts to.
    struct Category {
        int activity = -1;
        int kernel = -1;  ///< -1: not of the compute lane
        int cause = -1;   ///< of waits for it; -1: nothing waits for it but its own lane
        Stall stall = Stall::collective;
        double flops = 0;
        std::int64_t bytes = 0;  ///< moved between tiers
    };

    void add_computed(std::span<const LaneRecord> records, StepReport& report);
    void add_wait(const CriticalPath::Owner& owner,
                  std::int64_t begin_ns,
                  std::int64_t end_ns,
                  StepReport& report);
    /// Seconds of [begin_ns, end_ns) without what `op` of this rank, an update, waited for a checkpoint,
    /// which is added to the account.
    double without_checkpoint(int op, std::int64_t begin_ns, std::int64_t end_ns);
    void add_stall(Stall stall, int cause, double seconds, StepReport& report);

    const schedule::Program& program_;
    const NodeTimes& times_;
    Account& account_;
    std::vector<Category> categories_;  ///< by op
    std::vector<int> wait_activities_;  ///< by stall
    StallCauses causes_;
    /// [rank of the node][stall]: what that rank was late for; -1: no lane of it.
    std::vector<std::array<int, num_stalls>> late_causes_;
    int data_cause_ = -1;
    int checkpoint_activity_ = -1;
    std::span<const SaveStream::Wait> for_checkpoint_;  ///< of the step
    CriticalPath waits_;
};

}  // namespace ziggurat::train
