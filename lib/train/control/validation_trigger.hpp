/// Schedule of validations.
#pragma once

#include <cstdint>
#include <optional>

#include "comm/context.hpp"
#include "comm/control.hpp"
#include "spec/run_spec.hpp"
#include "train/control/interval_trigger.hpp"

namespace ziggurat::train {

/// Schedule of validations: by steps, tokens or time, and after the last step.
///
/// All ranks count the same steps and tokens. Times are those of rank 0.
class ValidationTrigger {
  public:
    /// \param tokens  consumed before this run started
    ValidationTrigger(const spec::RunSpec& spec, const comm::Context& world, std::int64_t tokens)
        : spec_{spec}, world_{world} {
        if (spec.validate.every) {
            due_.emplace(*spec.validate.every, tokens);
        }
    }

    /// Returns true if a validation is due after `step`.
    ///
    /// Collective: over all ranks if the deck gives an interval in seconds; else local
    bool is_due(std::int64_t step, std::int64_t tokens) {
        if (!due_) {
            return false;
        }
        std::int64_t due = due_->is_due(step, tokens) ? 1 : 0;
        if (spec_.validate.every->seconds > 0) {
            due = world_.rank() == 0 ? due : 0;
            comm::all_reduce_max(world_, {&due, 1});
        }
        return due != 0 || step == spec_.train.steps;
    }

  private:
    const spec::RunSpec& spec_;
    comm::Context world_;
    std::optional<IntervalTrigger> due_;
};

}  // namespace ziggurat::train
