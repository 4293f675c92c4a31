/// Schedule of validations.
#pragma once

#include <cstdint>
#include <optional>

#include "comm/context.hpp"
#include "comm/control.hpp"
#include "spec/run_spec.hpp"
#include "train/control/due.hpp"

namespace ziggurat::train {

/// By steps and tokens, which all ranks count alike, by time as rank 0 sees it, and after the last step.
class ValidationDue {
  public:
    /// \param tokens  consumed before this run
    ValidationDue(const spec::RunSpec& spec, const comm::Context& world, std::int64_t tokens)
        : spec_{spec}, world_{world} {
        if (spec.validate.every) {
            due_.emplace(*spec.validate.every, tokens);
        }
    }

    /// Collective: over all ranks where the deck asks for a time; else local
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
    std::optional<Due> due_;
};

}  // namespace ziggurat::train
