/// Selection of ops of a program by unit, lane, kind and position.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Unit name of ops that belong to no unit.
inline constexpr const char* no_unit = "step";

/// Conditions that a selected op meets; an empty text matches all ops.
struct OpSelection {
    std::string unit = {};  ///< name of a unit of the model, or `no_unit`
    std::string lane = {};  ///< full name, or the name without its group: `collective` for `collective[data]`
    std::string kind = {};
    std::optional<std::pair<int, int>> range = {};  ///< first and last index of an op, both included
};

/// Returns the name of the unit that an op works for. `units` are the names of the model's units.
const std::string& unit_of(const Op& op, const std::vector<std::string>& units);

/// Values that a selection can name, in the order of first use.
struct OpChoices {
    std::vector<std::string> units;
    std::vector<std::string> lanes;  ///< full names, and names without their groups
    std::vector<std::string> kinds;
};
OpChoices choices_of(const Program& program, const std::vector<std::string>& units);

/// Returns the indices of the ops that meet all conditions.
std::vector<int> select_ops(const Program& program,
                            const std::vector<std::string>& units,
                            const OpSelection& selection);

}  // namespace ziggurat::schedule
