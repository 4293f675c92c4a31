/// Weights of the reference model of a preference objective, loaded into the state of a run.
#pragma once

#include <string>

#include "comm/context.hpp"
#include "spec/run_spec.hpp"
#include "train/resume/resume.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {

/// Returns true if the loaded state has the weights of the reference.
///
/// \param resumed  what resume() has loaded; its missing values were set
bool has_reference_weights(const spec::RunSpec& spec, const Resumed& resumed);

/// Replaces the weights of the state by those of the reference. Other state does not change.
///
/// Returns the checkpoint that they come from; empty if they come from a Hugging Face model, or are random.
///
/// \param need  why the weights are needed, for errors: a clause
/// Collective: over `world`
/// Errors:     those of begin_from_scratch(), also Stopped
std::string load_reference_weights(const spec::RunSpec& spec,
                                   const comm::Context& world,
                                   Assembly& assembly,
                                   Reporter& reporter,
                                   const std::string& need,
                                   const StopCheck& stop = {});

/// Sets the initial values that `resumed` lacks: those of all tensors, or of adapters.
///
/// Collective: local
void set_missing_values(const spec::RunSpec& spec, const Resumed& resumed, Assembly& assembly);

}  // namespace ziggurat::train
