/// Broadcasts and reductions of the blocks of a grid of tensor ranks (expand_grid.cpp).
#include "base/contract.hpp"
#include "schedule/expand/expand_phases.hpp"

namespace ziggurat::schedule {

using spec::Axis;

namespace {

Operand without_bytes(BufferId buffer, Role role) {
    return {buffer, role, {{0, 0}}};
}

std::string number_of(const GridBlock& block) {
    return std::to_string(block.number) + (block.tile > 0 ? " tile " + std::to_string(block.tile) : "");
}

}  // namespace

/// Returns a collective of the row or column of this rank, in which `root` has the only block.
Op PhaseWriter::grid_op(
    OpKind kind, const GridBlock& block, Axis axis, int root, std::int64_t bytes, spec::DType type) {
    auto op = tensor_op(kind, block.unit, block.microbatch, block.direction, axis);
    op.payload = type;
    const char* name = kind == OpKind::all_gather ? " broadcast " : " reduction ";
    op.label = label_of(block.unit, block.phase, block.direction, block.microbatch) + name + "of block " +
               number_of(block);
    op.blocks.resize(model_.tensor());
    op.blocks[root] = {0, bytes};
    return op;
}

std::string PhaseWriter::name_of(const GridBlock& block, const char* what) const {
    const auto& unit = unit_of(block.unit);
    return unit.name + "." + unit.phases[block.phase].name + what + number_of(block);
}

/// Broadcasts `source`, which the root has, and returns the buffer of the copy.
BufferId PhaseWriter::broadcast(
    const GridBlock& block, Axis axis, int root, Operand source, std::int64_t bytes) {
    auto& program = draft_.program;
    const char* name = axis == Axis::tensor ? ".d_output block " : ".weight block ";
    const BufferId copy = scratch_buffer(name_of(block, name), bytes, MemoryCategory::working_buffers,
                                         block.unit, block.microbatch);
    program.buffers[copy].type = spec_.precision.compute;
    put_with_table(program.buffers[copy], block.unit);
    auto op = grid_op(OpKind::all_gather, block, axis, root, bytes, spec_.precision.compute);
    const bool is_root = model_.mesh.coordinate(axis, model_.rank) == root;
    source.role = Role::input;
    ZG_ENSURES(source.bytes() == bytes);
    op.segment = axis == Axis::tensor_row ? block_op(block).segment : -1;  // of the root's parameters
    op.reads.push_back(is_root ? std::move(source) : without_bytes(source.buffer, Role::input));
    op.writes.push_back(whole(program, copy, Role::output));
    add(std::move(op));
    return copy;
}

/// Puts a block on the host if ops of the unit run there (ModelLayout::stays_on_host).
void PhaseWriter::put_with_table(Buffer& buffer, UnitId unit) const {
    buffer.stays_on_host = model_.stays_on_host(unit);
    buffer.tier = buffer.stays_on_host ? spec::Tier::host : spec::Tier::device;
}

/// Broadcasts a block of a phase's weight or table in the columns.
BufferId PhaseWriter::broadcast_weight(const GridBlock& block, Role role) {
    auto parameters = block_op(block);
    add_parameters(parameters, unit_of(block.unit).phases[block.phase], {role});
    auto& weight = parameters.reads.front();
    ZG_ENSURES(parameters.reads.size() == 1 && weight.runs.size() == 1);
    return broadcast(block, Axis::tensor_row, block.number, weight, weight.bytes());
}

/// Adds the summands of all members up, in the summand of the root.
///
/// All members name the buffer that the root writes, so that passes treat the op equally on all of them.
void PhaseWriter::reduce_in_place(
    const GridBlock& block, Axis axis, int root, BufferId summand, BufferId named) {
    auto& program = draft_.program;
    const auto& buffer = program.buffers[summand];
    auto op = grid_op(OpKind::reduce_scatter, block, axis, root, buffer.bytes, buffer.type);
    const bool is_root = model_.mesh.coordinate(axis, model_.rank) == root;
    op.reads.push_back(whole(program, summand, Role::input));
    op.writes.push_back(is_root ? whole(program, summand, Role::output) : without_bytes(named, Role::output));
    add(std::move(op));
}

/// Adds the reduced gradient of this rank's block of a weight to the gradient of the step.
///
/// It follows the reductions of all blocks, so that all ranks list their collectives in the same order.
void PhaseWriter::add_block(const GridBlock& block, Role role, BufferId summand) {
    auto sum = compute_op(block.unit, block.phase, block.microbatch, block.direction, block.tile);
    sum.kind = OpKind::add;
    sum.flops = 0;
    sum.label += " gradient added up";
    const bool has_gradient = add_gradients(sum, unit_of(block.unit).phases[block.phase], {role});
    ZG_ENSURES(has_gradient && sum.writes.size() == 1);
    sum.writes.front().role = Role::sum;
    sum.reads.push_back(whole(draft_.program, summand, Role::input));
    add(std::move(sum));
}

/// Returns a buffer for this rank's summand of one block of a weight's gradient, as `op`'s only output.
BufferId PhaseWriter::gradient_block(Op& op, const GridBlock& block, Role role) {
    auto& program = draft_.program;
    const bool has_gradient = add_gradients(op, unit_of(block.unit).phases[block.phase], {role});
    ZG_ENSURES(has_gradient && op.writes.size() == 1 && op.writes.front().runs.size() == 1);
    auto& written = op.writes.front();
    auto summand = program.buffers[written.buffer];
    summand.name = name_of(block, ".gradient block ");
    summand.lifetime = Lifetime::transient;
    put_with_table(summand, block.unit);
    summand.consumer = MemoryCategory::working_buffers;
    summand.reuses = -1;
    summand.microbatch = block.microbatch;
    summand.type = spec::DType::f32;
    summand.first_element = written.runs.front().offset / 4;
    summand.bytes = written.bytes();
    written.buffer = program.add_buffer(std::move(summand));
    written.runs = {{0, written.bytes()}};
    return written.buffer;
}

/// Returns the op of one block of a product.
Op PhaseWriter::block_op(const GridBlock& block) const {
    const auto& phase = unit_of(block.unit).phases[block.phase];
    auto op = compute_op(block.unit, block.phase, block.microbatch, block.direction, block.tile);
    const bool is_tile = op.column_end > 0 && phase.out > 0;
    const double share =
        is_tile ? static_cast<double>(op.column_end - op.column_begin) / static_cast<double>(phase.out) : 1;
    // Adapters have ops of their own.
    op.flops = phase.flops_per_token * static_cast<double>(op.row_end) * share / model_.tensor();
    op.label += " block " + std::to_string(block.number);
    return op;
}

}  // namespace ziggurat::schedule
