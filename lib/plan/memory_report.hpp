/// Does a run fit, and what helps where it does not.
#pragma once

#include <string>
#include <vector>

#include "plan/memory_table.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// A change of the deck that leaves the training the same, and what a rank then needs.
struct Remedy {
    std::string overrides;  ///< as on the command line: "recompute.kind=full"
    std::int64_t device_bytes = 0;
    bool fits = false;
};

/// Of the fullest rank: stages of a pipeline differ, the other axes do not.
struct MemoryReport {
    std::string table;  ///< with remedies where it does not fit
    bool fits = false;
    std::vector<Remedy> remedies;  ///< cheapest first; empty where it fits
};

/// Builds the training program of one rank per stage and reports on the one that needs the most.
///
/// Remedies are tried by building the program that they lead to: more recomputation, and smaller
/// micro-batches with as many more of them. The cheapest ones that fit are named, or, where none does, the
/// one that helps most.
MemoryReport memory_report(const spec::RunSpec& spec);

}  // namespace ziggurat::plan
