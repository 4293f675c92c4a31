/// Counters of one rank while it trains: time by activity and op, traffic, the trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "comm/context.hpp"
#include "layout/families/family.hpp"
#include "spec/run_spec.hpp"
#include "train/account/accounting.hpp"
#include "train/account/bottleneck.hpp"
#include "train/account/link_use.hpp"
#include "train/account/op_account.hpp"
#include "train/account/planned_step.hpp"
#include "train/account/resident_memory.hpp"
#include "train/account/run_end.hpp"
#include "train/account/step_fields.hpp"
#include "train/account/step_report.hpp"
#include "train/account/trace.hpp"
#include "train/account/traffic.hpp"
#include "train/account/utilisation.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {

/// Account of one rank, updated from the executor's records after each step. No allocation per step.
///
/// Collective: local, except construction and table(), which are over all ranks.
class RunAccount {
  public:
    /// \param peak        peak rate for the utilisation
    /// \param planned     planned step, on rank 0; nullopt if it is unknown
    /// \param first_step  number of the first step of this run; 1 if it starts from scratch
    RunAccount(const spec::RunSpec& spec,
               const comm::Context& world,
               Assembly& assembly,
               const layout::FamilyTable& table,
               const Peak& peak,
               std::optional<PlannedStep> planned,
               std::int64_t first_step);

    /// Returns the account for activities between ops, to use with ScopedActivity.
    TimeAccounting& times() noexcept { return times_; }

    /// Records the memory of the process up to now as that of the start. Call before the first step.
    void end_start();
    /// Starts the step with index `step`.
    void begin_step(std::int64_t step);
    /// Sets in `mine` the bytes that this rank has sent and moved since the previous call.
    void measure(StepFigures& mine);
    /// Adds the records of the step that the trainer's executor has run to the account and to `report`.
    ///
    /// `report` already has the wait for data.
    void add_step(StepReport& report);
    /// Adds to `report` the bytes of all ranks in the step whose outcome the assembly has.
    void add_outcome(StepReport& report) const;
    /// Adds to `report` the utilisation, from its `tok_s`, and the peak, which the step may raise; and the
    /// share of the plan's lower bound.
    void add_utilisation(StepReport& report) noexcept;
    /// Adds the ops that ended after the last step. Call after the trainer's executor has finished.
    void add_rest();

    /// Returns the fields that can be nonzero in the steps of this run; stalls are those of this rank.
    const StepFields& fields() const noexcept { return fields_; }

    /// Returns the account of this rank alone, without communication.
    std::string own_table() const;
    /// Returns the account of all ranks on rank 0, and an empty string on other ranks.
    ///
    /// Traffic counts are complete only after Executor::finish. Adds the bytes of all ranks to `end` if it is
    /// not nullptr.
    ///
    /// Collective: over all ranks
    std::string table(RunEnd* end = nullptr) const;

    /// Writes the trace of this rank to the run directory if the deck enables it.
    ///
    /// Errors: Error{resource}
    void write_trace(const std::string& folder) const;

  private:
    RankMemory rank_memory() const;
    /// Sums the plans of all ranks, and from them determines the fields.
    void plan_of_all_ranks();

    const spec::RunSpec& spec_;
    comm::Context world_;
    Assembly& assembly_;
    Utilisation utilisation_;
    std::optional<PlannedStep> planned_step_;
    TimeAccounting times_;
    OpAccount ops_;
    Traffic traffic_;
    LinkCount links_;
    BottleneckFacts bottleneck_facts_;
    StepFigures last_reported_;  ///< totals that measure() has returned so far for this rank
    StepFigures planned_;        ///< of one step, of all ranks
    StepFields fields_;
    std::optional<Trace> trace_;
    ResidentMemory resident_;
    std::int64_t process_start_bytes_ = 0;
    std::int64_t own_step_bytes_ = 0;  ///< maximum of ResidentMemory::own_bytes() at the ends of steps
};

}  // namespace ziggurat::train
