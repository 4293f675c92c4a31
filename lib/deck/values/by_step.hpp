/// Numbers that change at given steps: `0.7`, or `[[0, 0.7], [10000, 0.2]]`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "deck/document/node.hpp"
#include "deck/schema/schema.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::deck {

/// Values by step, of which the first has step 0.
using ByStep = std::vector<spec::WeightChange>;

/// Highest step of a change.
inline constexpr std::int64_t max_change_step = 1'000'000'000'000;

/// Reads a number, or a list of pairs of step and number. A list also accepts 0.
///
/// Returns nullopt for another form. A single number is not compared with the range of the row.
std::optional<ByStep> read_by_step(const Row& row, const Node& node);

/// Error of a list of pairs.
struct ByStepError {
    SourceLocation at;
    std::string reason;
};

/// Returns the first error of a list that read_by_step() does not accept.
ByStepError find_by_step_error(const Row& row, const Node& list);

}  // namespace ziggurat::deck
