/// Diagnoses of all ranks as those of the job: what several have found alike is one line.
#pragma once

#include <string>
#include <vector>

#include "doctor/diagnosis.hpp"

namespace ziggurat::doctor {

/// What one rank has found; of the scope `node`, only the first rank of a node has found anything.
struct RankDiagnoses {
    std::string host = {};
    int node = 0;
    Diagnoses found = {};
};

/// One diagnosis of each check, subject, health and remedy, in the order of their first mention. It says how
/// many ranks, or nodes, have found it and names the first few; where their numbers differ, it has those of
/// the first.
Diagnoses merge(const std::vector<RankDiagnoses>& by_rank);

}  // namespace ziggurat::doctor
