/// Rows, ranges of tokens of a micro-batch: the parts of operands and ops that cover only some of them.
#pragma once

#include <cstdint>

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Rows [begin, end) of a micro-batch.
struct Rows {
    std::int64_t begin = 0;
    std::int64_t end = 0;

    std::int64_t size() const { return end - begin; }
    bool operator==(const Rows&) const = default;
};

/// True if each row of an operand with this role belongs to one row of its phase.
bool has_rows(Role role);

/// Returns the part of an operand of `num_rows` rows that has `rows`.
///
/// \pre the operand is one range of whole rows
Operand part_of_rows(const Operand& operand, const Rows& rows, std::int64_t num_rows);

/// Returns the part of `op` that computes `rows` of its `num_rows` rows, with its share of the FLOPs.
Op op_of_rows(const Op& op, const Rows& rows, std::int64_t num_rows);

}  // namespace ziggurat::schedule
