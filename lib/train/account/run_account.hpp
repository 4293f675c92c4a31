/// Counters of one rank while it trains: time by activity and op, traffic, the trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "comm/context.hpp"
#include "layout/family.hpp"
#include "spec/run_spec.hpp"
#include "train/account/accounting.hpp"
#include "train/account/bottleneck.hpp"
#include "train/account/link_use.hpp"
#include "train/account/op_account.hpp"
#include "train/account/run_end.hpp"
#include "train/account/step_fields.hpp"
#include "train/account/step_report.hpp"
#include "train/account/trace.hpp"
#include "train/account/traffic.hpp"
#include "train/account/utilisation.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {

/// Reads the executor's records after each step. No allocation per step.
///
/// Collective: local, but for construction and table(), over all ranks
class RunAccount {
  public:
    /// \param peak        what the utilisation is measured against
    /// \param first_step  the number of the first step of this run, 1 when it begins afresh
    RunAccount(const spec::RunSpec& spec,
               const comm::Context& world,
               Assembly& assembly,
               const layout::FamilyTable& table,
               const Peak& peak,
               std::int64_t first_step);

    /// For activities between ops: scopes add to them.
    Account& times() noexcept { return times_; }

    /// The step with index `step` begins.
    void begin_step(std::int64_t step);
    /// What this rank has sent and moved since it was asked before.
    void measure(StepFigures& mine);
    /// The trainer's executor has run a step: its records go into the account and into `report`, which has
    /// the wait for data already.
    void add_step(StepReport& report);
    /// The utilisation of a step, by its `tok_s`, and the peak, which it may raise, go into its report.
    void add_utilisation(StepReport& report) noexcept;
    /// The trainer's executor has finished: what ended after the last step is counted too.
    void add_rest();

    /// The fields that may become anything but 0 in the steps of this run; stalls are those of this rank.
    const StepFields& fields() const noexcept { return fields_; }

    /// The account as far as this rank knows it by itself.
    std::string own_table() const;
    /// The account of all ranks so far, on rank 0; nothing elsewhere. Counts of traffic are whole only after
    /// Executor::finish. Adds what all ranks have sent to `end`, where there is one.
    ///
    /// Collective: over all ranks
    std::string table(RunEnd* end = nullptr) const;

    /// The trace of this rank into the run's folder, when the deck asks for one.
    /// Errors: Error{resource}
    void write_trace(const std::string& folder) const;

  private:
    /// Adds up what all ranks plan, and finds which fields that leaves.
    void plan_of_all_ranks();

    const spec::RunSpec& spec_;
    comm::Context world_;
    Assembly& assembly_;
    Utilisation utilisation_;
    Account times_;
    OpAccount ops_;
    Traffic traffic_;
    LinkCount links_;
    BottleneckFacts bottleneck_facts_;
    StepFigures told_;     ///< all that measure() has told of this rank
    StepFigures planned_;  ///< of one step, of all ranks
    StepFields fields_;
    std::optional<Trace> trace_;
};

}  // namespace ziggurat::train
