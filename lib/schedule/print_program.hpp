/// Step programs as human-readable text; program_json.hpp writes them for tools.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Receives the next part of a text. The whole text of a large program would need more memory than the
/// program.
using Print = std::function<void(std::string_view)>;

/// Returns the totals in a few lines: ops by kind, bytes by purpose, control values by link, arenas and
/// groups.
std::string print_totals(const Program& program);

/// Prints one line for each of `ops`, which are indices of the program's ops:
///
///     index  lane  label  reads -> writes (buffer, bytes)  waits for ops of this step; of the step before:
///     -op
void print_ops(const Program& program, const std::vector<int>& ops, const Print& print);

}  // namespace ziggurat::schedule
