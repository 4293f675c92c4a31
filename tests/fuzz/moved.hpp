/// Checks that the tiers of a run hold and move the bytes that its deck implies.
#pragma once

#include <string>

#include "comm/context.hpp"
#include "schedule/step_program.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::test {

/// Returns true if all state is sharded over all ranks, and schedule::link_volumes_by_formula applies.
bool has_closed_forms(const spec::RunSpec& run);

/// Describes activations whose fate in the program differs from the rules of `run`; empty if all agree.
///
/// Without frozen tensors; a swapped activation may stay on the device if backward needs it at once.
std::string lack_of_fates(const spec::RunSpec& run, const schedule::Program& program);

/// Describes differences between the state's movement and the deck; empty if they agree.
///
/// Reports offloaded state in a wrong tier, or not moved over the lanes to its tier, and lanes whose bytes
/// over all steps differ from those of the program or, if they apply, of the closed forms.
///
/// \param counted       bytes moved on this rank, over all steps of the run
/// \param redone        planned bytes of updates that were repeated
std::string lack_of_movement(const spec::RunSpec& run,
                             const comm::Context& group,
                             const schedule::BytesByLink& counted,
                             const schedule::BytesByLink& redone = {});

}  // namespace ziggurat::test
