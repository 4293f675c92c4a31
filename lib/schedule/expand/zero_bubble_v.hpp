/// Order of slots of pipelines whose virtual stages turn back (zero_bubble_v).
#pragma once

#include <vector>

#include "schedule/expand/pipeline_order.hpp"

namespace ziggurat::schedule {

/// Returns the slots of all stages, each of which has two chunks (spec::turns_back).
///
/// They are found by running the stages together, in slots of one unit of time: each stage runs backward or
/// forward of the second chunk, then of the first, then gradients of weights. At most `stages` micro-batches
/// have activations on a stage, which is what the first stage of 1F1B keeps. Of several preferences between
/// forward and backward, the shortest order is taken. If `stages` divides `microbatches`, each stage waits
/// for stages - 1 slots: as long as the first forward takes to reach the last stage.
///
/// Source: Qi et al., "Zero Bubble Pipeline Parallelism", 2023, section 3.2 (search), and "Pipeline
/// Parallelism with Controllable Memory", 2024, section 3 (placement of ZB-V).
std::vector<std::vector<Slot>> zero_bubble_v(int stages, int microbatches);

}  // namespace ziggurat::schedule
