/// Some of the ops of a program, chosen by what they are and where they stand.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// How an op is called that belongs to no unit.
inline constexpr const char* no_unit = "step";

/// What an op must be to be chosen; empty texts ask for nothing.
struct OpSelection {
    std::string unit = {};  ///< of the model's, or `no_unit`
    std::string lane = {};  ///< whole, or without its group: `collective` for `collective[data]`
    std::string kind = {};
    std::optional<std::pair<int, int>> places = {};  ///< from the first op to the last, both among them
};

/// The unit that an op works for. `units` are the names of the model's.
const std::string& unit_of(const Op& op, const std::vector<std::string>& units);

/// What is there to be chosen, in the order of first use.
struct OpChoices {
    std::vector<std::string> units;
    std::vector<std::string> lanes;  ///< whole, and without their groups
    std::vector<std::string> kinds;
};
OpChoices choices_of(const Program& program, const std::vector<std::string>& units);

/// The places of the ops that are all that is asked.
std::vector<int> select_ops(const Program& program,
                            const std::vector<std::string>& units,
                            const OpSelection& selection);

}  // namespace ziggurat::schedule
