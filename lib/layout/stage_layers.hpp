/// Distribution of a model's layers over pipeline stages.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// Returns the number of decoder layers of each virtual stage, in order of the model.
///
/// Uses the numbers in the deck if it gives them. Otherwise distributes layers by cost: the flops of forward,
/// backward and recomputation. The embedding is before the first layer and costs nothing. The head is after
/// the last layer and costs its product with the vocabulary.
///
/// spec::stage_of returns the stage of each virtual stage.
///
/// \pre parallel.stages x parallel.chunks_per_stage <= model.layers
std::vector<std::int64_t> stage_layers(const spec::RunSpec& run);

/// Returns the distribution that minimizes the cost of the most expensive stage.
///
/// Among equal ones, each stage gets the cost closest to an even share of the rest, preferring more to less.
///
/// \param layers    cost of each layer
/// \param head      additional cost of the last stage
/// \pre 1 <= stages <= layers.size()
std::vector<std::int64_t> spread_layers(std::span<const std::int64_t> layers, std::int64_t head, int stages);

/// Returns the distribution for stages of several chunks.
///
/// \param turns_back  see spec::turns_back
///
/// Minimizes the total cost of the most expensive stage, then the most expensive chunk of each stage. All
/// layers count with their mean cost, because no stage has only consecutive layers.
///
/// \pre stages x chunks <= layers.size()
std::vector<std::int64_t> spread_layers_over_chunks(
    std::span<const std::int64_t> layers, std::int64_t head, int stages, int chunks, bool turns_back = false);

}  // namespace ziggurat::layout
