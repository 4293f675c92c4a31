/// Random decks of small trainings over the data axis, as text, with all keys that affect sharding.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::test {

/// A valid deck and its run.
struct RandomDeck {
    std::uint64_t seed = 0;
    int ranks = 1;
    std::string text;
    spec::RunSpec run;
    std::vector<std::string> refusals;  ///< first problem of each rejected draw before it
};

/// Returns the first text that the rules accept.
///
/// Errors: Error{internal} if the rules reject a hundred texts
RandomDeck first_taken(std::uint64_t seed, int ranks, const std::function<std::string()>& draw_text);

/// Returns the deck with drawn patterns of trained tensors, for `share` of the seeds.
///
/// draw_trained_part draws them. A deck that already has patterns or adapters keeps them. The patterns are
/// drawn with a seed of their own, so they change no other draw.
///
/// Errors: as first_taken
RandomDeck with_trained_part(const RandomDeck& deck, double share);

/// Draws a deck by seed: models of odd sizes in both families, 1 to `max_ranks` data ranks.
///
/// Rejected draws are repeated; some are meant to be rejected.
///
/// Errors: Error{internal} if the rules reject a hundred draws
RandomDeck random_deck(std::uint64_t seed, int max_ranks);

/// Same, with offloaded state, at least one kind of it fully, and 20 steps.
///
/// In every other run, chunks of state stay on the device if memory is free.
///
/// \param nvme_folder  folder of the NVMe tier of all ranks
RandomDeck random_deck_of_tiers(std::uint64_t seed, int max_ranks, const std::string& nvme_folder);

/// Returns a run without tiers that must give the same bits.
///
/// All state is on the device, there is no recomputation, and options that only move bytes have their
/// defaults.
spec::RunSpec without_tiers(const spec::RunSpec& run);

/// Returns a run with replicated state that must give the same bits.
///
/// It has the same number of ranks and micro-batches and the same order of sums, but one node, no
/// recomputation, and the defaults of options that only move bytes. If the order of sums depends on the
/// gradient span, that span stays and the others change.
spec::RunSpec reference_of(const spec::RunSpec& run);

}  // namespace ziggurat::test
