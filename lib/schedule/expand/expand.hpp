/// Expansion of stages into units and of units into phases: the first form of a step program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedule/expand/pipeline_order.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// An older version of a unit's parameters (no_flush_pass).
struct Stash {
    BufferId kept = -1;             ///< this rank's shard
    BufferId full_parameters = -1;  ///< as UnitState::full_parameters
};

/// Value of a micro-batch that is not on the device between forward and backward (no_flush_pass).
struct ValueAway {
    int microbatch = -1;
    BufferId value = -1;  ///< on the device, named by forward
    BufferId away = -1;   ///< slot in its home
    BufferId back = -1;   ///< on the device, named by backward
};

/// State of one unit on this rank, as indices of buffers; -1 if it does not exist.
struct UnitState {
    /// Returns this rank's shard of a kind that is kept from step to step (layout::is_kept).
    ///
    /// For gradients, this is the accumulator.
    BufferId operator[](StateKind kind) const { return kept[kind]; }

    EnumArray<StateKind, BufferId, layout::num_state_kinds + 1> kept;
    BufferId full_parameters = -1;  ///< read by phases: the kept parameters, or a placeholder for leases
    BufferId full_frozen = -1;      ///< the same for frozen parameters; one placeholder can stand for both
    BufferId full_gradients =
        -1;  ///< written by phases: the kept gradients, or a placeholder for reduce_pass
    std::vector<Stash> stashes = {};  ///< stashes[a - 1] is older by `a` updates; empty: backward needs none
};

/// Persistent state of all units.
struct StateBuffers {
    IndexedVector<UnitId, UnitState> units;
};

/// Divides `elements` into one block per member.
///
/// All blocks are multiples of 16 elements, except the last ones.
std::vector<ByteRange> equal_blocks(std::int64_t elements, std::int64_t element_bytes, int members);

/// Program between two passes.
struct ProgramBuilder {
    Program program;
    StateBuffers state;
    std::vector<std::size_t> slot_begins;  ///< by slot: its first op in the list that expand returns
    std::vector<ValueAway> values_away;    ///< activation_pass moves them
    /// True if collectives over the data axis list the block of each member. Memory does not depend on these
    /// blocks, and with thousands of ranks they are most of a program.
    bool names_blocks = true;
};

/// Returns the index of the group that ModelLayout::data_members describes.
///
/// Adds the group if it is missing.
int data_group(Program& program, const ModelLayout& model, int inner, int span);

/// True if phases add their gradients directly to the accumulator.
///
/// This holds if no sum over ranks is formed before the last micro-batch, and if the accumulator has the type
/// in which gradients are computed.
bool adds_in_place(const spec::RunSpec& spec);

/// Adds the persistent buffers of `model`: the same buffers in the same order in every variant.
///
/// Gradients: with reduce `at_end`, the unit's whole gradient. With `each_microbatch`, this rank's optimizer
/// shard: it accumulates the finest piece, and the other pieces are gathered to it. With `by_span`, this
/// rank's gradient shard.
///
/// Units for which ModelLayout::trains returns false have only the kind `frozen`.
///
/// The placeholders `full_parameters` (if the span of parameters is above 1) and `full_gradients` (unless
/// adds_in_place) are transient buffers. The first is as large as the held part of the unit, the second as
/// large as its trained region. gather_pass and reduce_pass replace every operand in a placeholder by one at
/// the same byte offset in a lease or in the gradient of one micro-batch. place_buffers gives no memory to
/// buffers that no op names.
StateBuffers add_state(Program& program, const spec::RunSpec& spec, const ModelLayout& model);

/// Writes forward and backward of all slots, unit by unit and phase by phase.
///
/// With train.accumulate by_layer, a training program has the ops of all slots, in another order: all
/// micro-batches of a unit before the next unit. It has no slot_begins.
///
/// Also inserts the collectives that convert between tensor-axis placements of neighbouring phases, and the
/// messages between stages. Ops carry unit, phase, micro-batch and direction; collectives of a unit carry the
/// unit's number. Backward ops that write gradients of parameters leave `accumulate` to reduce_pass.
///
/// Conventions:
/// - The head runs completely in the backward slot (in the forward slot of `evaluate`), so no activation of
///   the head is saved.
/// - Gradients of values are transient. Phases share them where GradientRule allows it.
/// - A micro-batch's tensors (BatchTensor), step_inputs, update_inputs and exact sums are the host's buffers
///   (Program::trainer_buffers). control_pass replaces them by device copies in ops of the device.
/// - With slots backward_input and backward_weight, the weight products of layers move to the latter. Later
///   sums with a gradient that such a product reads are formed in another buffer.
/// - With Variant::cached, each attention phase has a persistent buffer with the keys and values of `cached`.
///
/// \param cached  see CachedPass; for Variant::cached only
ProgramBuilder expand(const spec::RunSpec& spec,
                      const ModelLayout& model,
                      Variant variant,
                      const std::vector<Slot>& slots,
                      const CachedPass& cached = {});

}  // namespace ziggurat::schedule
