#include "plan/gpu/op_operands.hpp"

#include <algorithm>
#include <vector>

namespace ziggurat::plan {

using schedule::Operand;
using schedule::Role;

std::int64_t OpOperands::all_but(std::initializer_list<Role> left_out) const {
    const auto is_left_out = [&](Role role) {
        return role == Role::workspace || std::ranges::find(left_out, role) != left_out.end();
    };
    std::int64_t bytes = 0;
    for (const auto* operands : {&op_.reads, &op_.writes}) {
        std::vector<const Operand*> counted;
        for (const auto& operand : *operands) {
            const bool is_known = std::ranges::any_of(counted, [&](const Operand* other) {
                return other->buffer == operand.buffer && other->runs == operand.runs;
            });
            if (!is_left_out(operand.role) && !is_known) {
                counted.push_back(&operand);
                bytes += operand.bytes();
            }
        }
    }
    return bytes;
}

}  // namespace ziggurat::plan
