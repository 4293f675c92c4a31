/// Clip factors of units that are clipped by their own norms.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "base/exact_sum.hpp"
#include "comm/async_sum.hpp"
#include "comm/context.hpp"
#include "comm/node/node_memory.hpp"
#include "kernels/launch/step_inputs.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"
#include "state/tier_memory.hpp"
#include "train/ops/action.hpp"

namespace ziggurat::train {

/// Ops `unit_clip`: an all-reduce over the ranks of a unit, which gives its updates their clip factor.
///
/// All units of a group use one AsyncSum: the ops of their lane run one after another.
///
/// Source:   Pascanu et al., "On the difficulty of training recurrent neural networks", 2013, algorithm 1,
///           with the norm of one unit instead of that of the whole gradient
/// Numerics: sums are exact, so their bits do not depend on the layout
class UnitClips {
  public:
    /// \param node       provides shared memory for the all-reduces; outlives this object
    /// \param optimizer  outlives this object
    /// Collective: over the members of each group of unit_clips; every rank of `world` has its program
    UnitClips(const comm::Context& world,
              comm::NodeMemory& node,
              const schedule::Program& program,
              const spec::Optimizer& optimizer);

    /// Binds one op.
    ///
    /// The op adds the exact sums of squares that it reads over its group. It copies the inputs that it reads
    /// for the unit's updates, with the clip factor, and with the skip flag if the norm is not finite. All
    /// operands are on the host.
    Action bind(const schedule::Program& program, const schedule::Op& op, state::TierMemory& memory);

  private:
    /// Operands of one op.
    struct Unit {
        std::vector<const ExactSum*> squares;
        const kernels::StepInputs* inputs = nullptr;
        kernels::StepInputs* of_updates = nullptr;

        ExactSum sum() const;
    };

    void finish(const Unit& unit, const ExactSum& squares) const;

    const spec::Optimizer& optimizer_;
    std::map<int, comm::AsyncSum> sums_;  ///< by group
    std::deque<Unit> units_;
};

}  // namespace ziggurat::train
