/// COIN-OR CBC as a process.
#pragma once

#include <string>

namespace ziggurat::plan {

/// Solves a program in the LP format and returns the text of the solution file.
///
/// \param solver   executable, searched on PATH
/// \param seconds  time limit of the solver
/// Errors: Error{resource} if the executable does not exist, fails, or writes no solution
std::string solve_program(const std::string& program, const std::string& solver, int seconds);

}  // namespace ziggurat::plan
