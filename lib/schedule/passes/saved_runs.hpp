/// Runs of bytes that checkpoints take from the state of one rank.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/flat_layout.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// A part of a persistent buffer that belongs to this data rank alone.
struct SavedRun {
    int buffer = -1;
    layout::ElementRange elements;  ///< of the unit's flat range
    ByteRun run;                    ///< the same as bytes of the buffer
    /// It lies in memory and training changes it, so that a save beside training needs a copy.
    bool is_copied = false;
};

/// The buffers of all saved kinds (layout::state_kinds), each cut over the whole data axis however few ranks
/// it is sharded over: replicas are saved once, and all data ranks save alike much. In the buffers' order.
///
/// Ranks that differ on another axis may have the same runs: ModelLayout::counts says whose are saved.
std::vector<SavedRun> saved_runs(const ModelLayout& model, const Program& program);

}  // namespace ziggurat::schedule
