/// Changes of a deck that take less memory and leave the training the same.
#pragma once

#include <string>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// A changed run, and the overrides that lead to it, each behind a space.
struct Change {
    std::string overrides;
    spec::RunSpec spec;
};

/// By what they cost in time. A home on NVMe is proposed where the machine has such space.
std::vector<Change> cheaper_runs(const spec::RunSpec& spec);

}  // namespace ziggurat::plan
