/// A step program as text for people; program_json.hpp has it for tools.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Gets the next part of a text. Of a large program the whole would take more memory than the program.
using Print = std::function<void(std::string_view)>;

/// Ops by kind, bytes by purpose, control values by link, arenas and groups, in some lines.
std::string print_totals(const Program& program);

/// One line for each of `ops`, which are places in the program:
///
///     index  lane  label  reads -> writes (buffer, bytes)  waits for ops of this step; of the step before:
///     -op
void print_ops(const Program& program, const std::vector<int>& ops, const Print& print);

}  // namespace ziggurat::schedule
