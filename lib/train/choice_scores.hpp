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

/// The log-probability of each row's ending after its context, in nats, by row, on all ranks; NaN where it is
/// not finite.
///
/// \param spec      data.seq is the length of the sequences
/// \param progress  told of batches; null: nobody waits for them
/// Numerics:   exact sums of the losses of tokens. A sequence has the same place in its micro-batch on any
///             number of ranks, so that their bits are the same too where equal micro-batches give equal bits
/// Collective: over `world`, each rank doing its share of the sequences
std::vector<double> score_rows(const data::ChoiceSequences& sequences,
                               const spec::RunSpec& spec,
                               const comm::Context& world,
                               const schedule::ModelLayout& model,
                               Assembly& assembly,
                               Progress* progress);

}  // namespace ziggurat::train
