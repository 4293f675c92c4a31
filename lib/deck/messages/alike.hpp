/// Problems that say the same of several things, told once.
#pragma once

#include <string>
#include <vector>

#include "deck/messages/diagnostics.hpp"

namespace ziggurat::deck {

/// A problem, and others that say the same of something else.
struct AlikeProblems {
    Problem first;
    std::vector<Problem> others = {};
};

/// Puts together notes, and warnings, of one file that differ in nothing but what they quote, places in lists
/// and numbers. Errors stay alone. In the order of the first of each. Pure.
std::vector<AlikeProblems> group_alike(std::vector<Problem> problems);

/// `2 more like it: 'b.txt' (1:65), 'c.txt' (1:96)`; of many the first ones. Pure.
/// \pre there are others
std::string others_like_it(const AlikeProblems& alike);

}  // namespace ziggurat::deck
