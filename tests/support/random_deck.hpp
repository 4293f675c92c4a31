/// Random decks of small trainings over the data axis: every key that shapes how they are spread, as text.
#pragma once

#include <cstdint>
#include <functional>
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

/// The first of the texts that the rules take.
///
/// Errors: Error{internal} when none of a hundred is taken
RandomDeck first_taken(std::uint64_t seed, int ranks, const std::function<std::string()>& draw_text);

/// The same deck for the same seed: models of odd sizes in both families, 1 to `most_ranks` data ranks.
///
/// A draw that the rules refuse is followed by another; some are meant to be refused.
///
/// Errors: Error{internal} when none of a hundred draws is taken
RandomDeck random_deck(std::uint64_t seed, int most_ranks);

/// The same with homes of state away from the device, at least one of them whole, and 20 steps.
///
/// \param nvme_folder  where the NVMe tier of all ranks lies
RandomDeck random_deck_of_tiers(std::uint64_t seed, int most_ranks, const std::string& nvme_folder);

/// The run that has to leave the same bits as one with tiers: everything at home on the device, nothing
/// computed twice, and defaults for what only moves bytes.
spec::RunSpec without_tiers(const spec::RunSpec& run);

/// The run that has to leave the same bits: on as many ranks, with as many micro-batches and the same order
/// of sums, but state replicated, one node, nothing redone and defaults for what only moves bytes. Where the
/// order of sums has a gradient span in it, that span stays and the others are different ones.
spec::RunSpec reference_of(const spec::RunSpec& run);

}  // namespace ziggurat::test
