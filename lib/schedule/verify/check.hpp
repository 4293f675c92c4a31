/// Promises that the program of one rank keeps by itself, whatever the other ranks do.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/step_program.hpp"
#include "schedule/verify/simulate.hpp"

namespace ziggurat::schedule {

/// What there is room for; indexed by spec::Tier. 0: not looked at.
struct Budgets {
    std::array<std::int64_t, 3> bytes{0, 0, 0};
};

/// Everything that is wrong, most basic things first; empty when nothing is:
///
/// - waits go to earlier ops of the list, or to any op of the step before, so there is no circle within a
/// rank;
/// - the collectives of a group are on one lane, in one order;
/// - operands lie within their buffers, buffers within their arenas, arenas within `budgets`;
/// - operands are where the op works, and moves between the tiers that its lane joins; NVMe moves whole
/// pages, but for a buffer's last one;
/// - what is gathered is used, and not kept past its last use: a lease ends within the step;
/// - no race: of two ops that touch the same bytes, one of them writing, the later one in the list (or in the
///   next step) waits for the earlier one, by its own waits, its lane's order or those of what it waits for.
std::vector<Finding> check_program(const Program& program, const Budgets& budgets = {});

}  // namespace ziggurat::schedule
