/// Products, lookups and the head on a grid of tensor ranks (SUMMA), with two blocks in flight.
///
/// The rank in row i and column j has the rows of sequences of i and the block j of their width, and of each
/// weight [out, in] the block [out i, in j]. For each l in turn:
///
///     y(i, l)  = sum over j of x(i, j) w(l, j)^T     w is broadcast in columns, y reduced in rows
///     dx(i, j) = sum over l of dy(i, l) w(l, j)      dy is broadcast in rows, w in columns
///     dw(l, j) = sum over i of dy(i, l)^T x(i, j)    dw is reduced in columns; dy as above
///
/// A broadcast is an all_gather to which one member contributes, a reduction to one member a reduce_scatter
/// of which one member has the only block.
///
/// Source: van de Geijn and Watts, "SUMMA: Scalable Universal Matrix Multiplication Algorithm", 1997; Xu et
/// al., "An Efficient 2D Method for Training Super-Large Deep Learning Models" (Optimus), 2021, section 3.
#include <algorithm>

#include "base/contract.hpp"
#include "schedule/expand/expand_phases.hpp"

namespace ziggurat::schedule {

using layout::PhaseKind;
using spec::Axis;

/// Computes y = x w^T + bias; each rank has its block of all three.
void PhaseWriter::grid_product(UnitId unit, int phase, int microbatch, BufferId x, BufferId y) {
    auto& program = draft_.program;
    const auto& described = unit_of(unit).phases[phase];
    const int tiles = static_cast<int>(num_tiles(unit, phase));
    const auto block = [&](int l, int tile = 0) {
        return GridBlock{unit, phase, microbatch, Direction::forward, l, tile};
    };
    const int blocks = model_.tensor();
    std::vector<BufferId> weights;
    const auto fetch = [&](int l, int tile) {
        weights.push_back(broadcast_weight(block(l, tile), Role::weight));
    };
    std::vector<BufferId> summands;
    fetch(0, 0);
    for (int k = 0; k < blocks * tiles; ++k) {
        const int l = k / tiles;
        const int tile = k % tiles;
        if (k + 1 < blocks * tiles) {
            fetch((k + 1) / tiles, (k + 1) % tiles);
        }
        const bool is_own = l == model_.tensor_rank;
        if (tile == 0) {
            summands.push_back(y);
        }
        if (tile == 0 && !is_own) {
            auto summand = program.buffers[y];
            summand.name += " block " + std::to_string(l);
            summand.consumer = MemoryCategory::working_buffers;
            summand.fate.reset();
            summands.back() = program.add_buffer(std::move(summand));
        }
        auto op = block_op(block(l, tile));
        op.reads.push_back(whole(program, x, described.reads.front().role));
        op.reads.push_back(whole(program, weights[k], Role::weight));
        if (is_own) {  // one summand has the bias
            add_parameters(op, described, {Role::bias});
        }
        if (tile > 0) {
            op.reads.push_back(
                whole(program, summands[l], Role::output));  // keeps the columns of earlier tiles
        }
        op.writes.push_back(whole(program, summands[l], Role::output));
        add_workspace(op, op.column_end > 0 ? tile_workspace_bytes(op, op.row_end, described.in)
                                            : workspace_bytes(described, Direction::forward));
        add(std::move(op));
        if (l > 0 && tile + 1 == tiles) {
            reduce_in_place(block(l - 1), Axis::tensor, l - 1, summands[l - 1], y);
        }
    }
    reduce_in_place(block(blocks - 1), Axis::tensor, blocks - 1, summands.back(), y);
}

/// Computes the gradients of a product's input and weight from that of its output.
///
/// \param x    -1 if the gradient of the weight is not needed
/// \param d_x  -1 if the gradient of the input is not needed
void PhaseWriter::grid_gradients(
    UnitId unit, int phase, int microbatch, BufferId d_y, BufferId x, BufferId d_x) {
    auto& program = draft_.program;
    const auto& described = unit_of(unit).phases[phase];
    const int tiles = static_cast<int>(num_tiles(unit, phase));
    const auto block = [&](int k, Direction direction) {
        return GridBlock{unit, phase, microbatch, direction, k / tiles, k % tiles};
    };
    const bool is_narrow = model_.element_bytes < 4;
    const BufferId sum =
        d_x >= 0 && is_narrow
            ? scratch_buffer("sum of " + program.buffers[d_x].name, model_.tokens * described.in * 4,
                             MemoryCategory::working_buffers, unit, microbatch)
            : d_x;
    const auto add_scratch = [&](Op& op) {
        add_workspace(op, op.column_end > 0
                              ? tile_workspace_bytes(op, model_.tokens, described.in)
                              : std::max(workspaces_->linear(model_.tokens, described.in, described.out),
                                         workspaces_->column_sum(described.out)));
    };
    const int parts = x >= 0 || d_x >= 0 ? model_.tensor() * tiles : 0;  // blocks, or all their tiles
    std::vector<BufferId> outputs, weights, summands;
    const auto fetch = [&](int k) {
        if (k % tiles == 0) {
            outputs.push_back(broadcast(block(k, Direction::backward), Axis::tensor, k / tiles,
                                        whole(program, d_y, Role::input), program.buffers[d_y].bytes));
        }
        weights.push_back(d_x >= 0 ? broadcast_weight(block(k, Direction::backward_input), Role::weight)
                                   : BufferId{});
    };
    const auto reduce_summand = [&](int k) {
        reduce_in_place(block(k, Direction::backward_weight), Axis::tensor_row, k / tiles, summands[k],
                        summands[k]);
    };
    if (parts > 0) {
        fetch(0);
    }
    for (int k = 0; k < parts; ++k) {
        if (k + 1 < parts) {
            fetch(k + 1);
        }
        if (d_x >= 0) {
            auto through = block_op(block(k, Direction::backward_input));
            through.reads.push_back(whole(program, outputs[k / tiles], Role::d_output));
            through.reads.push_back(whole(program, weights[k], Role::weight));
            if (k > 0) {
                through.reads.push_back(whole(program, sum, Role::d_input_sum));
            }
            through.writes.push_back(whole(program, sum, Role::d_input_sum));
            if (is_narrow && k + 1 == parts) {
                through.writes.push_back(whole(program, d_x, Role::d_input));
            }
            add_scratch(through);
            add(std::move(through));
        }
        if (x < 0) {
            continue;
        }
        auto weight = block_op(block(k, Direction::backward_weight));
        summands.push_back(gradient_block(weight, block(k, Direction::backward_weight), Role::weight));
        weight.reads.push_back(whole(program, x, Role::input));
        weight.reads.push_back(whole(program, outputs[k / tiles], Role::d_output));
        add_scratch(weight);
        add(std::move(weight));
        if (k > 0) {
            reduce_summand(k - 1);
        }
    }
    if (x >= 0) {
        reduce_summand(parts - 1);
        for (int tile = 0; tile < tiles; ++tile) {
            const int own = model_.tensor_row * tiles + tile;
            add_block(block(own, Direction::backward_weight), Role::weight, summands[own]);
        }
    }
}

void PhaseWriter::grid_bias_gradient(UnitId unit, int phase, int microbatch, BufferId d_y) {
    auto& program = draft_.program;
    const auto& described = unit_of(unit).phases[phase];
    const int tiles = static_cast<int>(num_tiles(unit, phase));
    for (int tile = 0; tile < tiles; ++tile) {
        auto bias = compute_op(unit, phase, microbatch, Direction::backward_weight, tile);
        if (add_gradients(bias, described, {Role::bias})) {
            bias.flops = 0;
            bias.label += " bias";
            bias.reads.push_back(whole(program, d_y, Role::d_output));
            add_workspace(bias, bias.column_end > 0 ? tile_workspace_bytes(bias, model_.tokens, described.in)
                                                    : workspaces_->column_sum(described.out));
            add(std::move(bias));
        }
    }
}

void PhaseWriter::forward_grid(UnitId unit, int phase, int microbatch) {
    const auto& described = unit_of(unit).phases[phase];
    const auto& output = described.writes.front();
    const BufferId y =
        value_buffer(unit, output.value, output.wanted, microbatch, is_kept(unit, output.value));
    values_[{microbatch, unit, output.value}] = {y, output.wanted};
    if (described.kind == PhaseKind::embedding) {
        grid_lookup(unit, phase, microbatch, y);
        return;
    }
    const BufferId x = use_value(unit, described.reads.front(), microbatch, Direction::forward);
    if (described.adapters.empty()) {
        grid_product(unit, phase, microbatch, x, y);
        return;
    }
    const BufferId inner = grid_adapter_input(unit, phase, microbatch, x, Direction::forward);
    grid_product(unit, phase, microbatch, x, y);
    grid_adapter_output(unit, phase, microbatch, inner, y);
}

/// True if the gradient of a product's weight is needed; with adapters it is not.
bool PhaseWriter::is_weight_trained(UnitId unit, const layout::Phase& phase) const {
    const auto& use = phase.parameters.front();
    return unit_of(use.unit >= 0 ? use.unit : unit).parameters[use.parameter].is_trained;
}

void PhaseWriter::backward_grid(UnitId unit, int phase, int microbatch) {
    const auto& described = unit_of(unit).phases[phase];
    const auto d_y = d_output(unit, phase, microbatch);
    if (described.kind == PhaseKind::embedding) {
        grid_lookup_gradients(unit, phase, microbatch, d_y.buffer);
        return;
    }
    const auto& input = described.reads.front();
    const BufferId x =
        trains_weight(unit, phase) ? use_value(unit, input, microbatch, Direction::backward) : BufferId{};
    const BufferId d_x = model_.passes_gradient_on(unit, phase)
                             ? gradient_buffer(unit, input.value, input.wanted, microbatch)
                             : BufferId{};
    const bool has_adapters = !described.adapters.empty();
    const BufferId of_weight = is_weight_trained(unit, described) ? x : BufferId{};
    const BufferId d_inner =
        has_adapters ? grid_adapter_gradient(unit, phase, microbatch, d_y.buffer) : BufferId{};
    grid_gradients(unit, phase, microbatch, d_y.buffer, is_deferring_ ? BufferId{} : of_weight, d_x);
    if (has_adapters && d_x >= 0) {
        grid_adapter_d_input(unit, phase, microbatch, d_inner, d_x);
    }
    const auto first = std::ssize(draft_.program.ops);
    if (is_deferring_) {
        // The gradient of the output is broadcast again: the copies of all blocks would take more memory.
        grid_gradients(unit, phase, microbatch, d_y.buffer, of_weight, -1);
    }
    grid_bias_gradient(unit, phase, microbatch, d_y.buffer);
    if (has_adapters) {
        grid_adapter_weights(unit, phase, microbatch, x, d_y.buffer, d_inner);
    }
    if (is_deferring_) {
        defer_ops(first, d_y.buffer);
    }
    if (d_x >= 0) {
        leave_gradient(unit, phase, microbatch, {d_x, input.wanted});
    }
}

/// Computes the logits of all rows, their losses and, in training, the gradient of the head's input.
BufferId PhaseWriter::grid_head(UnitId unit, int phase, int microbatch, bool passes_on) {
    const auto& described = unit_of(unit).phases[phase];
    const auto& input = described.reads.front();
    const BufferId h = use_value(unit, input, microbatch, Direction::forward);
    const BufferId logits = scratch_buffer("logits", model_.tokens * described.out * model_.element_bytes,
                                           MemoryCategory::logits, unit, microbatch);
    draft_.program.buffers[logits].type = spec_.precision.compute;
    grid_product(unit, phase, microbatch, h, logits);
    losses_of_logits(unit, microbatch, 0, model_.tokens, logits);
    if (draft_.program.variant != Variant::train) {
        return -1;
    }
    const BufferId d_h =
        passes_on ? gradient_buffer(unit, input.value, input.wanted, microbatch) : BufferId{};
    grid_gradients(unit, phase, microbatch, logits, is_weight_trained(unit, described) ? h : BufferId{}, d_h);
    return d_h;
}

}  // namespace ziggurat::schedule
