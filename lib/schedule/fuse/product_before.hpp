/// Products before the gradient of an activation.
#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// True if `op` is a whole product without adapters, of the same pass as `activation`.
///
/// Tiles, and blocks of a grid's product, are not whole.
inline bool is_product_beside(const Op& op, const Op& activation, const ModelLayout& model) {
    if (op.kind != OpKind::compute || op.phase < 0 || op.unit != activation.unit ||
        op.microbatch != activation.microbatch) {
        return false;
    }
    const auto& phase = model.table.units[op.unit].phases[op.phase];
    return phase.kind == layout::PhaseKind::linear && phase.adapters.empty() && !phase.is_of_grid &&
           op.column_end == 0 && op.segment == activation.segment;
}

/// Returns the last product of `before` that writes the gradient of the output of `activation`.
///
/// One op may follow it: the gradient of its weight. Returns nullptr if the product is not one of
/// is_product_beside(), or if an op after it uses `d_output` or writes `input`, the input of `activation`.
inline Op* product_before(const Program& program,
                          std::vector<Op>& before,
                          const Op& activation,
                          BufferId d_output,
                          BufferId input,
                          const ModelLayout& model) {
    constexpr std::ptrdiff_t max_ops_back = 2;
    const auto has = [](const std::vector<Operand>& operands, BufferId buffer) {
        return std::ranges::find(operands, buffer, &Operand::buffer) != operands.end();
    };
    const auto depth = std::min(max_ops_back, std::ssize(before));
    for (auto at = before.rbegin(); at != before.rbegin() + depth; ++at) {
        const auto* const made = program.find_write(*at, Role::d_input);
        if (is_product_beside(*at, activation, model) && at->direction == Direction::backward_input &&
            made != nullptr && made->buffer == d_output) {
            return &*at;
        }
        if (has(at->reads, d_output) || has(at->writes, d_output) || has(at->writes, input)) {
            return nullptr;
        }
    }
    return nullptr;
}

}  // namespace ziggurat::schedule
