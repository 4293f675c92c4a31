/// From the executor's records to the numbers that a person reads.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "schedule/model_layout.hpp"
#include "train/accounting.hpp"
#include "train/executor.hpp"
#include "train/stall_causes.hpp"
#include "train/step_report.hpp"
#include "train/trace.hpp"
#include "train/wait_chain.hpp"

namespace ziggurat::train {

/// Knows, for each op of a program, which activity and kernel it counts to, which stall waiting for it is and
/// what that wait is called.
class OpAccount {
  public:
    OpAccount(const schedule::Program& program, const layout::FamilyTable& table, Account& account);

    /// Adds the last step of `executor`, and its wait for data that is in `report` already, to the account
    /// and to `report`: compute and stall seconds, and the causes of the longest stalls. What the compute
    /// lane waited for is followed to the lane that was busy (WaitChain).
    void add(const Executor& executor, StepReport& report);

    const StallCauses& stall_causes() const noexcept { return causes_; }

    /// Adds them to a trace whose lanes are trace_lanes().
    void add_to(Trace& trace, std::span<const LaneRecord> records) const;
    std::vector<std::string> trace_lanes() const;

  private:
    struct Place {
        int activity = -1;
        int kernel = -1;  ///< -1: not of the compute lane
        int cause = -1;   ///< of waits for it; -1: nothing waits for it but its own lane
        Stall stall = Stall::collective;
        double flops = 0;
        std::int64_t bytes = 0;  ///< moved between tiers
    };

    const schedule::Program& program_;
    Account& account_;
    std::vector<Place> places_;         ///< by op
    std::vector<int> wait_activities_;  ///< by stall
    StallCauses causes_;
    int data_cause_ = -1;
    WaitChain waits_;
};

}  // namespace ziggurat::train
