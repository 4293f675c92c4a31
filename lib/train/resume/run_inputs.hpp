/// Checkpoints that a run began with, where its deck names runs, whose newest checkpoint changes.
#pragma once

#include "comm/context.hpp"
#include "spec/run_spec.hpp"
#include "train/resume/resume.hpp"

namespace ziggurat::train {

class Reporter;

/// Sets the checkpoint of train.objective.reference, and names it in the deck.
///
/// If it cannot be found, the reference keeps its name: kept scores may be complete without it.
/// Collective: over `world`
void find_reference(const spec::RunSpec& spec,
                    const comm::Context& world,
                    Reporter& reporter,
                    Resumed& resumed);

/// Sets the checkpoints that the deck of a resumed run names. Collective: over `world`
void find_inputs(const spec::RunSpec& spec, const comm::Context& world, Reporter& reporter, Resumed& resumed);

}  // namespace ziggurat::train
