/// Log-probabilities of endings, by the evaluation program of an assembly.
#pragma once

#include <vector>

#include "base/progress.hpp"
#include "comm/context.hpp"
#include "data/choice/choice_sequences.hpp"
#include "schedule/model_layout.hpp"
#include "spec/run_spec.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {

/// Returns the log-probability of each row's ending after its context, by row, on all ranks.
///
/// Units: nats; NaN if the value is not finite.
///
/// \param spec      data.seq is the length of the sequences
/// \param progress  counts the batches; nullptr: no progress is reported
/// Numerics:   exact sums of the losses of tokens. A sequence has the same index in its micro-batch on any
///             number of ranks. So the bits are the same too if equal micro-batches give equal bits
/// Collective: over `world`; each rank evaluates its share of the sequences
std::vector<double> score_rows(const data::ChoiceSequences& sequences,
                               const spec::RunSpec& spec,
                               const comm::Context& world,
                               const schedule::ModelLayout& model,
                               Assembly& assembly,
                               Progress* progress);

}  // namespace ziggurat::train
