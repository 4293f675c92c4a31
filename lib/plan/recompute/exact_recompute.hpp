/// Fastest choice of recomputation, by an integer program that COIN-OR CBC solves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plan/recompute/recompute_graph.hpp"

namespace ziggurat::plan {

/// Returns the integer program of the fastest choice within `budget` bytes, in the LP format.
///
/// Its variables are the number of layers that recompute each op, the number of layers that keep a value only
/// for the recomputation of others, and, for each op, whether all layers recompute it. So bytes are those of
/// cost_of().
///
/// Source: Jain et al., "Checkmate: Breaking the Memory Wall with Optimal Tensor Rematerialization", 2020,
/// section 4. Theirs has variables for each op of a network; here, equal layers share theirs.
std::string recompute_program(const RecomputeGraph& graph, std::int64_t budget);

/// Result of a solver.
struct ExactRecompute {
    std::optional<RecomputeChoice> choice;  ///< nothing: no choice is within the budget
    bool is_proven = false;                 ///< false: the time limit ended the search
};

/// Reads the solution file of CBC. Throws Error{resource} if it is not one.
ExactRecompute read_solution(const RecomputeGraph& graph, const std::string& text);

/// The solver: an executable, which runs as a process of its own.
struct Cbc {
    std::string program = "cbc";  ///< searched on PATH
    int seconds = 60;             ///< time limit
};

/// Solves recompute_program().
///
/// Errors: Error{resource} if the executable does not exist or fails
ExactRecompute exact_recompute(const RecomputeGraph& graph, std::int64_t budget, const Cbc& solver = {});

}  // namespace ziggurat::plan
