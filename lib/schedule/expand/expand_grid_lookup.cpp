/// Lookups in a table with blocks on a grid of tensor ranks, which are broadcast in the columns.
#include "schedule/expand/expand_phases.hpp"

namespace ziggurat::schedule {

using spec::Axis;

/// Restricts an op to one block of the rows of a table.
void PhaseWriter::set_table_rows(Op& op, int block) const {
    const auto rows = spec_.model.vocab_padded / model_.tensor_rows();
    op.column_begin = block * rows;
    op.column_end = op.column_begin + rows;
}

/// Copies the rows of all tokens from the blocks of the table, then adds positions and dropout.
void PhaseWriter::grid_lookup(UnitId unit, int phase, int microbatch, BufferId x) {
    auto& program = draft_.program;
    const auto& described = unit_of(unit).phases[phase];
    const auto block = [&](int l) { return GridBlock{unit, phase, microbatch, Direction::forward, l}; };
    const int blocks = model_.tensor_rows();
    std::vector<BufferId> tables{broadcast_weight(block(0), Role::table)};
    for (int l = 0; l < blocks; ++l) {
        if (l + 1 < blocks) {
            tables.push_back(broadcast_weight(block(l + 1), Role::table));
        }
        auto op = block_op(block(l));
        set_table_rows(op, l);
        op.reads.push_back(whole(program, tables[l], Role::table));
        op.reads.push_back(batch(BatchTensor::tokens, microbatch));
        if (l > 0) {
            op.reads.push_back(whole(program, x, Role::output));
        }
        op.writes.push_back(whole(program, x, Role::output));
        add(std::move(op));
    }
    auto rest = compute_op(unit, phase, microbatch, Direction::forward);
    rest.label += " positions";
    add_parameters(rest, described, {Role::position_table});
    const bool drops = described.has_dropout && program.variant == Variant::train;
    if (rest.reads.empty() && !drops) {
        return;
    }
    rest.reads.push_back(batch(BatchTensor::positions, microbatch));
    rest.reads.push_back(whole(program, x, Role::output));
    if (drops) {
        add_dropout_reads(rest);
    }
    rest.writes.push_back(whole(program, x, Role::output));
    add(std::move(rest));
}

void PhaseWriter::grid_lookup_gradients(UnitId unit, int phase, int microbatch, BufferId d_x) {
    const auto& described = unit_of(unit).phases[phase];
    const auto finish = [&](Op op, BatchTensor indices) {
        op.reads.push_back(whole(draft_.program, d_x, Role::d_output));
        op.reads.push_back(batch(indices, microbatch));
        if (described.has_dropout) {
            add_dropout_reads(op);
        }
        add(std::move(op));
    };
    const auto block = [&](int l) { return GridBlock{unit, phase, microbatch, Direction::backward, l}; };
    const auto& table = unit_of(unit).parameters[described.parameters.front().parameter];
    const int blocks = table.is_trained ? model_.tensor_rows() : 0;
    std::vector<BufferId> summands;
    for (int l = 0; l < blocks; ++l) {
        auto op = block_op(block(l));
        summands.push_back(gradient_block(op, block(l), Role::table));
        set_table_rows(op, l);
        finish(std::move(op), BatchTensor::tokens);
        if (l > 0) {
            reduce_in_place(block(l - 1), Axis::tensor_row, l - 1, summands[l - 1], summands[l - 1]);
        }
    }
    if (blocks > 0) {
        reduce_in_place(block(blocks - 1), Axis::tensor_row, blocks - 1, summands.back(), summands.back());
        add_block(block(model_.tensor_row), Role::table, summands[model_.tensor_row]);
    }
    auto rest = compute_op(unit, phase, microbatch, Direction::backward);
    rest.label += " positions";
    if (add_gradients(rest, described, {Role::position_table})) {
        finish(std::move(rest), BatchTensor::positions);
    }
}

}  // namespace ziggurat::schedule
