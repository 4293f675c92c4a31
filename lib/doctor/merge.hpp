/// Merging of the diagnoses of all ranks: identical findings become one line.
#pragma once

#include <string>
#include <vector>

#include "doctor/diagnosis.hpp"

namespace ziggurat::doctor {

/// Diagnoses of one rank. Only the first rank of a node has diagnoses of scope `node`.
struct RankDiagnoses {
    std::string host = {};
    int node = 0;
    Diagnoses found = {};
};

/// Merges diagnoses with the same check, subject, health and remedy.
///
/// They stay in the order of their first occurrence. The text gives the number of ranks or nodes that
/// reported it, and the names of the first few. If their numbers differ, the text has those of the first.
Diagnoses merge(const std::vector<RankDiagnoses>& by_rank);

}  // namespace ziggurat::doctor
