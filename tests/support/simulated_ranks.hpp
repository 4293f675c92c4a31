/// All ranks of a run in one process, as programs simulated together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/step_program.hpp"
#include "schedule/verify/simulate.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::test {

/// Returns the program of each world rank.
std::vector<schedule::Program> programs_of_all_ranks(const spec::RunSpec& spec,
                                                     schedule::Variant variant = schedule::Variant::train);

/// Returns the value of an environment variable as a number.
std::int64_t count_from_environment(const char* name, std::int64_t default_value);

}  // namespace ziggurat::test
