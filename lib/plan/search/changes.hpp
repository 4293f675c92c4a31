/// Changes of a deck that need less memory and keep the training equivalent.
#pragma once

#include <string>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Changed run, and the overrides that lead to it, each after a space.
///
/// With homes that the change leaves to the planner, the run has open homes.
struct DeckEdit {
    std::string overrides;
    spec::RunSpec spec;
    /// One of the remedies of docs/troubleshooting.md, or a combination that saves most memory.
    bool is_advised = false;
};

/// Returns changed runs in the order of their cost in time.
///
/// A home on NVMe is proposed only if the machine has such space.
std::vector<DeckEdit> cheaper_runs(const spec::RunSpec& spec);

/// Returns the overrides of a change as arguments of a command, without the quotes of a shell.
std::vector<std::string> arguments_of(const std::string& overrides);

}  // namespace ziggurat::plan
