/// Grouping of problems that report the same about several things, to print them once.
#pragma once

#include <string>
#include <vector>

#include "deck/messages/diagnostics.hpp"

namespace ziggurat::deck {

/// A problem, and others that report the same about other things.
struct GroupedProblems {
    Problem first;
    std::vector<Problem> others = {};
};

/// Groups notes and warnings of one file that differ only in quoted texts, list indices and numbers.
///
/// Errors are not grouped. Groups are in the order of their first problem. Pure.
std::vector<GroupedProblems> group_problems(std::vector<Problem> problems);

/// Returns `2 more like it: 'b.txt' (1:65), 'c.txt' (1:96)`; lists only the first of a large group.
///
/// Pure.
///
/// \pre `others` is not empty
std::string others_like_it(const GroupedProblems& similar);

}  // namespace ziggurat::deck
