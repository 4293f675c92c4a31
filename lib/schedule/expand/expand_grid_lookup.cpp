/// Lookups in a table with blocks on a grid of tensor ranks, which are broadcast in the columns.
#include "schedule/expand/expand_phases.hpp"

namespace ziggurat::schedule {

using spec::Axis;

/// Restricts an op to one block of the rows of a table, or to its tile of that block.
void PhaseWriter::set_table_rows(Op& op, int block) const {
    const auto rows = spec_.model.vocab_padded / model_.tensor_rows();
    const bool is_tile = op.column_end > 0;
    op.column_begin += block * rows;
    op.column_end = is_tile ? op.column_end + block * rows : op.column_begin + rows;
}

/// Copies the rows of all tokens from the blocks of the table, then adds positions and dropout.
void PhaseWriter::grid_lookup(UnitId unit, int phase, int microbatch, BufferId x) {
    auto& program = draft_.program;
    const auto& described = unit_of(unit).phases[phase];
    const int tiles = static_cast<int>(num_tiles(unit, phase));
    const auto block = [&](int k) {
        return GridBlock{unit, phase, microbatch, Direction::forward, k / tiles, k % tiles};
    };
    const int parts = model_.tensor_rows() * tiles;
    std::vector<BufferId> tables{broadcast_weight(block(0), Role::table)};
    for (int k = 0; k < parts; ++k) {
        if (k + 1 < parts) {
            tables.push_back(broadcast_weight(block(k + 1), Role::table));
        }
        auto op = block_op(block(k));
        set_table_rows(op, k / tiles);
        op.reads.push_back(whole(program, tables[k], Role::table));
        op.reads.push_back(batch(BatchTensor::tokens, microbatch));
        if (k > 0) {
            op.reads.push_back(whole(program, x, Role::output));
        }
        op.writes.push_back(whole(program, x, Role::output));
        add(std::move(op));
    }
    const bool is_tiled = model_.tiling(unit).cuts(phase);
    auto rest = compute_op(unit, phase, microbatch, Direction::forward, is_tiled ? tiles : 0);
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
    const int tiles = static_cast<int>(num_tiles(unit, phase));
    const auto block = [&](int k) {
        return GridBlock{unit, phase, microbatch, Direction::backward, k / tiles, k % tiles};
    };
    const auto& table = unit_of(unit).parameters[described.parameters.front().parameter];
    const int parts = table.is_trained ? model_.tensor_rows() * tiles : 0;
    std::vector<BufferId> summands;
    const auto reduce_summand = [&](int k) {
        reduce_in_place(block(k), Axis::tensor_row, k / tiles, summands[k], summands[k]);
    };
    for (int k = 0; k < parts; ++k) {
        auto op = block_op(block(k));
        summands.push_back(gradient_block(op, block(k), Role::table));
        set_table_rows(op, k / tiles);
        finish(std::move(op), BatchTensor::tokens);
        if (k > 0) {
            reduce_summand(k - 1);
        }
    }
    if (parts > 0) {
        reduce_summand(parts - 1);
        for (int tile = 0; tile < tiles; ++tile) {
            const int own = model_.tensor_row * tiles + tile;
            add_block(block(own), Role::table, summands[own]);
        }
    }
    const bool is_tiled = model_.tiling(unit).cuts(phase);
    auto rest = compute_op(unit, phase, microbatch, Direction::backward, is_tiled ? tiles : 0);
    rest.label += " positions";
    if (add_gradients(rest, described, {Role::position_table})) {
        finish(std::move(rest), BatchTensor::positions);
    }
}

}  // namespace ziggurat::schedule
