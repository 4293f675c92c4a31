#include "schedule/rows/row_parts.hpp"

#include "base/contract.hpp"

namespace ziggurat::schedule {

bool has_rows(Role role) {
    switch (role) {
        case Role::input:
        case Role::output:
        case Role::activated:
        case Role::activation_input:
        case Role::addend:
        case Role::d_output:
        case Role::d_input:
        case Role::d_input_sum:
        case Role::d_addend:
        case Role::lora_inner:
        case Role::d_lora_inner:
            return true;
        default:
            return false;
    }
}

Operand part_of_rows(const Operand& operand, const Rows& rows, std::int64_t num_rows) {
    ZG_EXPECTS(operand.runs.size() == 1);
    const auto run = operand.runs.front();
    const auto row_bytes = run.bytes / num_rows;
    ZG_EXPECTS(row_bytes * num_rows == run.bytes);
    Operand part{operand.buffer, operand.role, {}};
    part.runs = {{run.offset + rows.begin * row_bytes, rows.size() * row_bytes}};
    return part;
}

Op op_of_rows(const Op& op, const Rows& rows, std::int64_t num_rows) {
    Op part = op;
    part.row_begin = rows.begin;
    part.row_end = rows.end;
    part.flops = op.flops * static_cast<double>(rows.size()) / static_cast<double>(num_rows);
    for (auto* operands : {&part.reads, &part.writes}) {
        for (auto& operand : *operands) {
            if (has_rows(operand.role)) {
                operand = part_of_rows(operand, rows, num_rows);
            }
        }
    }
    return part;
}

}  // namespace ziggurat::schedule
