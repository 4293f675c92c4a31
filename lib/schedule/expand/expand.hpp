/// Stages into units into phases: the first form of a step program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedule/expand/pipeline_order.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// The state of one unit on this rank, as indices of buffers; -1 where there is none.
struct UnitState {
    UnitState() { kept.fill(-1); }

    /// This rank's shard of a kind that is kept from step to step (layout::is_kept). Of gradients: the
    /// accumulator.
    int operator[](StateKind kind) const { return kept[static_cast<std::size_t>(kind)]; }

    std::array<int, layout::num_state_kinds + 1> kept;  ///< by kind
    int full_parameters = -1;  ///< read by phases: those that are kept, or a placeholder for leases
    int full_frozen = -1;      ///< the same of frozen ones; one placeholder stands for both
    int full_gradients = -1;   ///< written by phases: those that are kept, or a placeholder for reduce_pass
};

/// Persistent state of all units.
struct StateBuffers {
    std::vector<UnitState> units;  ///< by unit of the table
};

/// `elements` in consecutive blocks for `members`, multiples of 16 elements but for the last ones.
std::vector<ByteRun> equal_blocks(std::int64_t elements, std::int64_t element_bytes, int members);

/// A program on its way through the passes.
struct Draft {
    Program program;
    StateBuffers state;
    std::vector<std::size_t> slot_begins;  ///< by slot: its first op, as expand leaves the list
    /// Whether collectives over the data axis say which member has which block: memory does not depend on
    /// it, and with thousands of ranks it is most of a program.
    bool names_blocks = true;
};

/// Index of the group that ModelLayout::data_members describes; made when it is not there.
int data_group(Program& program, const ModelLayout& model, int inner, int span);

/// Whether phases add their gradients straight to the accumulator: nothing is summed over ranks before the
/// last micro-batch, and it has the type in which gradients are computed.
bool adds_in_place(const spec::RunSpec& spec);

/// Adds the persistent buffers of `model`, the same and in the same order in every variant.
///
/// Gradients: with reduce `at_end` the unit's whole gradient; with `each_microbatch` this rank's optimizer
/// shard, in which its finest piece is summed up and to which the others are gathered; with `by_span` its
/// gradient shard.
///
/// Of what ModelLayout::trains denies there is `frozen` only.
///
/// The placeholders `full_parameters` (span of parameters above 1) and `full_gradients` (unless
/// adds_in_place) are transient buffers of all that is held of the unit, and of its trained region.
/// gather_pass and reduce_pass replace every operand in them by one in the buffer of a lease or of one
/// micro-batch's gradient at the same byte offset; place_buffers gives no memory to what no op names.
StateBuffers add_state(Program& program, const spec::RunSpec& spec, const ModelLayout& model);

/// Forward and backward of all slots, unit by unit and phase by phase, with the collectives that neighbouring
/// placements ask for on the tensor axis and the messages between stages. Ops carry unit, phase, micro-batch
/// and direction; collectives of a unit carry its number too. Backward ops that write gradients of parameters
/// leave `accumulate` to reduce_pass.
///
/// Conventions:
/// - The head runs whole in the backward slot (in the forward slot of `evaluate`): nothing is kept for it.
/// - Gradients of values are transient and shared where GradientRule says so.
/// - A micro-batch's tensors (BatchTensor), step_inputs, update_inputs and exact sums are named as they
///   are on the host (Program::trainer_buffers); control_pass gives ops of the device their twins there.
/// - With slots backward_input and backward_weight, the weight products whose operands nothing
///   overwrites move to the latter.
Draft expand(const spec::RunSpec& spec,
             const ModelLayout& model,
             Variant variant,
             const std::vector<Slot>& slots);

}  // namespace ziggurat::schedule
