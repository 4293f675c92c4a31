/// Parts that both ways of carrying out a head have in common; only expand_head*.cpp includes it.
#pragma once

#include <cstdint>

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// The phase of that kind, of which a head has one.
int phase_of(const layout::Unit& unit, layout::PhaseKind kind);

/// Rows [begin, end) of a buffer of rows.
Operand part(int buffer, Role role, std::int64_t begin, std::int64_t end, std::int64_t row_bytes);

/// Lets an op cover some of the rows, with their share of the FLOPs.
void set_rows(Op& op, const Op& of_all_rows, std::int64_t begin, std::int64_t end);

}  // namespace ziggurat::schedule
