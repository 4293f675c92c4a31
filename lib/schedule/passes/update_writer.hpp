/// Ops of the optimizer: its inputs, the end of a step, updates and publications.
#pragma once

#include <unordered_set>
#include <vector>

#include "layout/chunk_layout.hpp"
#include "schedule/expand/expand.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Part of the update of a chunk.
enum class UpdatePart {
    whole,
    speculative,  ///< assumes that the gradient needs no clipping; keeps the state before it
    redo,         ///< repeats the update from the kept state, if the assumption was wrong
    delayed       ///< leaves the parameters to a publication in the next step
};

/// True if each unit of a chunk has its own update.
bool updates_by_unit(const spec::RunSpec& spec);

/// True if updates in backward wait for the norms of their units.
bool clips_in_backward(const spec::RunSpec& spec);

/// Returns the op that computes the inputs of a unit's updates from its exact sums.
///
/// Its group contains all ranks that have parameters of the unit; a single rank has no group.
///
/// \pre units are clipped by their own norms, and the rank trains the unit
Op unit_clip(ProgramBuilder& draft, const ModelLayout& model, UnitId unit);

/// Writes ops of the optimizer with their operands; optimizer_pass lists them.
class UpdateWriter {
  public:
    UpdateWriter(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model);
    /// Returns the op that gives the step's inputs to its updates, after those of the previous step.
    Op pass_on_inputs();
    Op step_end();
    /// Updates a chunk, or the part of a chunk that belongs to one unit.
    ///
    /// \param undo  buffer for the state before a speculative update; -1: no state is kept there
    Op update(int chunk, const std::vector<layout::UnitRange>& runs, UpdatePart part, BufferId undo = -1);
    /// Rounds the master weights of a chunk to its parameters.
    ///
    /// An asynchronous save takes parameters on NVMe from the op before it changes them.
    Op round_masters(int chunk, const std::vector<layout::UnitRange>& runs);
    /// Adds a buffer for the state before a speculative update; returns -1 if no state needs it.
    ///
    /// For each range, it has the fp32 vectors of Role::master, Role::first_moment, Role::second_moment and
    /// Role::average, if there is an average.
    ///
    /// \param has_slots  optimizer state is on NVMe, in two slots. Then only master weights that are the
    ///                   parameters need the buffer.
    BufferId add_undo(int chunk, const std::vector<layout::UnitRange>& runs, bool has_slots);
    /// Returns the publication of some units; nothing if no other rank holds their parameters.
    std::vector<Op> publish(const std::vector<UnitId>& units);

  private:
    BufferId inputs_of_backward() const { return speculative_inputs_ >= 0 ? speculative_inputs_ : inputs_; }
    std::unordered_set<int> buffers_written_as(Role role) const;
    ByteRange run_in(BufferId buffer, layout::ElementRange range) const;

    ProgramBuilder& draft_;
    const spec::RunSpec& spec_;
    const ModelLayout& model_;
    BufferId inputs_;                   ///< of updates after step_end, or of all updates
    BufferId speculative_inputs_ = -1;  ///< the same for speculative updates; -1: no update is speculative
};

}  // namespace ziggurat::schedule
