/// Byte ranges of one rank's state that checkpoints contain.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/flat_layout.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Part of a persistent buffer that only this data rank saves.
struct SavedRun {
    BufferId buffer = -1;
    layout::ElementRange elements;  ///< of the unit's flat range
    ByteRange run;                  ///< the same elements as bytes of the buffer
    /// True if it is in memory and training changes it: a background save then needs a copy.
    bool is_copied = false;
};

/// Returns the saved ranges of the buffers of all saved kinds (layout::state_kinds), in the buffers'
/// order.
///
/// Each buffer is cut over the whole data axis, even if it is sharded over fewer ranks. Replicas are
/// therefore saved one time, and all data ranks save an equal amount.
///
/// Ranks that differ on another axis can have the same ranges: ModelLayout::counts tests which of them saves.
std::vector<SavedRun> saved_runs(const ModelLayout& model, const Program& program);

}  // namespace ziggurat::schedule
