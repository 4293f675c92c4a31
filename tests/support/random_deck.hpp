/// Random decks of small trainings over the data axis: every key that shapes how they are spread, as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::test {

/// A deck that the rules took, and what they made of it.
struct RandomDeck {
    std::uint64_t seed = 0;
    int ranks = 1;
    std::string text;
    spec::RunSpec run;
    std::vector<std::string> refusals;  ///< the first problem of each draw before it that the rules refused
};

/// The same deck for the same seed: models of odd sizes in both families, 1 to `most_ranks` data ranks.
///
/// A draw that the rules refuse is followed by another; some are meant to be refused.
///
/// Errors: Error{internal} when none of a hundred draws is taken
RandomDeck random_deck(std::uint64_t seed, int most_ranks);

/// The run that has to leave the same bits: on as many ranks, with as many micro-batches and the same order
/// of sums, but state replicated, one node, nothing redone and defaults for what only moves bytes. Where the
/// order of sums has a gradient span in it, that span stays and the others are different ones.
spec::RunSpec reference_of(const spec::RunSpec& run);

}  // namespace ziggurat::test
