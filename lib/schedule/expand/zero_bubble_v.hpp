/// Order of slots of pipelines whose virtual stages turn back (zero_bubble_v, zero_bubble_v_half).
#pragma once

#include <vector>

#include "schedule/expand/pipeline_order.hpp"

namespace ziggurat::schedule {

/// Limit of activations on a stage, as a part of those of the first stage of 1F1B.
enum class VMemory {
    whole,  ///< 2 * stages chunks
    half    ///< stages + 2 chunks
};

/// Returns the slots of all stages, each of which has two chunks (spec::turns_back).
///
/// They are found by running the stages together, in slots of one unit of time, with several preferences
/// between the slots that a stage could run; the shortest order is taken.
/// - whole: If `stages` divides `microbatches`, each stage waits for stages - 1 slots: as long as the first
///   forward takes to reach the last stage.
/// - half: A stage runs the slot that is first in a periodic order with few micro-batches between forward and
///   backward of a chunk. Up to 6 stages, it waits for at most 4 * (stages - 1) slots, where 1F1B waits for
///   6 * (stages - 1).
///
/// Source: Qi et al., "Zero Bubble Pipeline Parallelism", 2023, section 3.2 (search), and "Pipeline
/// Parallelism with Controllable Memory", 2024, section 3 (placement; ZB-V, and V-Half as building blocks
/// that repeat in each interval of six slots).
std::vector<std::vector<Slot>> zero_bubble_v(int stages, int microbatches, VMemory memory);

}  // namespace ziggurat::schedule
