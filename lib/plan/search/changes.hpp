/// Changes of a deck that need less memory and keep the training equivalent.
#pragma once

#include <string>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Changed run, and the overrides that lead to it, each after a space.
struct DeckEdit {
    std::string overrides;
    spec::RunSpec spec;
};

/// Returns changed runs in the order of their cost in time.
///
/// A home on NVMe is proposed only if the machine has such space.
std::vector<DeckEdit> cheaper_runs(const spec::RunSpec& spec);

}  // namespace ziggurat::plan
