/// Scores of the reference model that an earlier job of the run has kept in the run directory.
#pragma once

#include <cstdint>

#include "comm/context.hpp"
#include "train/preference/reference_scores.hpp"

namespace ziggurat::train {

class Reporter;

/// Takes the scores of the file in the run directory, if there is one.
///
/// Prints the reason if a file cannot be used.
///
/// \param key  of reference_key(); rank 0's counts
/// Collective: over `world`
void take_kept_scores(const comm::Context& world,
                      Reporter& reporter,
                      std::uint64_t key,
                      ReferenceScores& scores);

}  // namespace ziggurat::train
