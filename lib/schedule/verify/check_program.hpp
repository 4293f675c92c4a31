/// Static checks of the program of one rank, independent of other ranks.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/step_program.hpp"
#include "schedule/verify/simulate.hpp"

namespace ziggurat::schedule {

/// Memory limits in bytes, indexed by spec::Tier. 0: not checked.
struct Budgets {
    spec::ByTier<std::int64_t> bytes{0, 0, 0};
};

/// Checks a program; returns all findings, the most basic first. The result is empty if the program is
/// correct.
///
/// - Waits refer to earlier ops of the list, or to any op of the previous step, so there is no cycle within a
///   rank.
/// - The collectives of a group are on one lane, in one order.
/// - Operands are within their buffers, buffers within their arenas, arenas within `budgets`.
/// - Operands are in the tier in which the op works, and transfers connect the tiers of their lane. NVMe
///   transfers cover whole pages, except for a buffer's last page.
/// - Gathered parameters are used, and not kept past their last use: a lease ends within the step.
/// - No race: if two ops touch the same bytes and one of them writes, the later one in the list (or in the
///   next step) waits for the earlier one, directly, through the order of its lane, or transitively.
std::vector<Finding> check_program(const Program& program, const Budgets& budgets = {});

}  // namespace ziggurat::schedule
