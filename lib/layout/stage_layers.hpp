/// Layers of pipeline stages: how a model is spread over them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// Decoder layers of each virtual stage, in order of the model: those that the run names, or else spread by
/// their costs, the flops of forward and backward and of what is computed again. The embedding lies before
/// the first and costs nothing; the head lies behind the last and costs its product with the vocabulary.
///
/// Virtual stage v is a chunk of stage v % stages.
///
/// \pre parallel.stages x parallel.chunks_per_stage <= model.layers
std::vector<std::int64_t> stage_layers(const spec::RunSpec& run);

/// The spread whose most expensive stage costs least; among those, each stage takes what comes nearest to an
/// even share of what is left, rather more than less.
///
/// \param layers    their costs
/// \param head      what the last stage has besides
/// \pre 1 <= stages <= layers.size()
std::vector<std::int64_t> spread_layers(std::span<const std::int64_t> layers, std::int64_t head, int stages);

/// The same for stages of several chunks, virtual stages v, v + stages, v + 2 stages ...: the stage whose
/// chunks cost most together costs least, and so does the chunk of a stage that costs most. Layers count at
/// their mean, for no stage has consecutive ones alone.
///
/// \pre stages x chunks <= layers.size()
std::vector<std::int64_t> spread_layers_over_chunks(std::span<const std::int64_t> layers,
                                                    std::int64_t head,
                                                    int stages,
                                                    int chunks);

}  // namespace ziggurat::layout
