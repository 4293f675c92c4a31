/// Adapters of products on a grid of tensor ranks.
///
/// The rank in row i and column j has the columns j of A and the rows j of B, the same in each row:
///
///     u(i)  = f sum over j of x(i, j) A(j)^T      y(i, j)  += u(i) B(j)^T
///     du(i) = f sum over j of dy(i, j) B(j)       dx(i, j) += du(i) A(j)
///     dA(j) = sum over i of du(i)^T x(i, j)       dB(j)     = sum over i of dy(i, j)^T u(i)
///
/// u and du have the rank of the adapters as their width, and are summed along rows. The sums over i are
/// those of all gradients that rows share. In a cube, adapters are a part of the product's op, as in mode 1d.
#include <utility>

#include "schedule/expand/expand_phases.hpp"

namespace ziggurat::schedule {

using spec::Axis;

namespace {

/// Returns the FLOP of the products of all A of a phase, or of all B.
double flops_of_a(const layout::Phase& phase, std::int64_t rank, std::int64_t rows) {
    return 2.0 * static_cast<double>(std::ssize(phase.adapters) * rank * phase.in) *
           static_cast<double>(rows);
}
double flops_of_b(const layout::Phase& phase, std::int64_t rank, std::int64_t rows) {
    return phase.adapter_flops_per_token * static_cast<double>(rows) - flops_of_a(phase, rank, rows);
}

}  // namespace

/// Returns a buffer for u, or its gradient, of all adapters of a phase.
BufferId PhaseWriter::inner_buffer(UnitId unit, int phase, int microbatch, const std::string& name) {
    const auto& described = unit_of(unit).phases[phase];
    const auto width = std::ssize(described.adapters) * spec_.model.lora.rank;
    const BufferId made = scratch_buffer(unit_of(unit).name + "." + described.name + name,
                                         model_.tokens * width * model_.element_bytes,
                                         MemoryCategory::working_buffers, unit, microbatch);
    draft_.program.buffers[made].type = spec_.precision.compute;
    return made;
}

/// Adds the product of all adapters of a phase with their A or B.
///
/// \param matrix  Role::lora_a or Role::lora_b
/// \param adds    the product is added to what `to` has
void PhaseWriter::grid_adapter_product(UnitId unit,
                                       int phase,
                                       int microbatch,
                                       Direction direction,
                                       Role matrix,
                                       Operand from,
                                       const Operand& to,
                                       bool adds) {
    const auto& described = unit_of(unit).phases[phase];
    const bool is_of_a = matrix == Role::lora_a;
    const auto flops = is_of_a ? flops_of_a : flops_of_b;
    auto op = adapter_op(unit, phase, microbatch, direction);
    op.label += is_of_a ? " of A" : " of B";
    op.flops = flops(described, spec_.model.lora.rank, model_.tokens);
    op.reads.push_back(std::move(from));
    add_parameters(op, described, {matrix});
    if (adds) {
        op.reads.push_back(to);
    }
    op.writes.push_back(to);
    add_workspace(op, adapter_workspace_bytes(described));
    add(std::move(op));
}

/// Computes u, summed along the row. Backward computes it again instead of saving it.
BufferId PhaseWriter::grid_adapter_input(
    UnitId unit, int phase, int microbatch, BufferId x, Direction direction) {
    const auto& program = draft_.program;
    const BufferId inner = inner_buffer(unit, phase, microbatch, ".lora_inner");
    grid_adapter_product(unit, phase, microbatch, direction, Role::lora_a, whole(program, x, Role::input),
                         whole(program, inner, Role::lora_inner), false);
    sum_over_tensor(inner, unit, microbatch, direction, Axis::tensor);
    return inner;
}

/// Adds u B^T to the output.
void PhaseWriter::grid_adapter_output(UnitId unit, int phase, int microbatch, BufferId inner, BufferId y) {
    const auto& program = draft_.program;
    grid_adapter_product(unit, phase, microbatch, Direction::forward, Role::lora_b,
                         whole(program, inner, Role::lora_inner), whole(program, y, Role::output), true);
}

/// Computes the gradient of u, summed along the row.
BufferId PhaseWriter::grid_adapter_gradient(UnitId unit, int phase, int microbatch, BufferId d_y) {
    const auto& program = draft_.program;
    const BufferId d_inner = inner_buffer(unit, phase, microbatch, ".d lora_inner");
    grid_adapter_product(unit, phase, microbatch, Direction::backward_input, Role::lora_b,
                         whole(program, d_y, Role::d_output), whole(program, d_inner, Role::d_lora_inner),
                         false);
    sum_over_tensor(d_inner, unit, microbatch, Direction::backward_input, Axis::tensor);
    return d_inner;
}

/// Adds du A to the gradient of the input.
void PhaseWriter::grid_adapter_d_input(
    UnitId unit, int phase, int microbatch, BufferId d_inner, BufferId d_x) {
    const auto& program = draft_.program;
    grid_adapter_product(unit, phase, microbatch, Direction::backward_input, Role::lora_a,
                         whole(program, d_inner, Role::d_lora_inner), whole(program, d_x, Role::d_input),
                         true);
}

/// Computes the gradients of A and B.
void PhaseWriter::grid_adapter_weights(
    UnitId unit, int phase, int microbatch, BufferId x, BufferId d_y, BufferId d_inner) {
    const auto& described = unit_of(unit).phases[phase];
    const BufferId inner = grid_adapter_input(unit, phase, microbatch, x, Direction::backward_weight);
    auto op = adapter_op(unit, phase, microbatch, Direction::backward_weight);
    op.label += " of adapters";
    add_gradients(op, described, {Role::lora_a, Role::lora_b});
    op.reads.push_back(whole(draft_.program, x, Role::input));
    op.reads.push_back(whole(draft_.program, d_y, Role::d_output));
    op.reads.push_back(whole(draft_.program, inner, Role::lora_inner));
    op.reads.push_back(whole(draft_.program, d_inner, Role::d_lora_inner));
    add_workspace(op, adapter_workspace_bytes(described));
    add(std::move(op));
}

}  // namespace ziggurat::schedule
