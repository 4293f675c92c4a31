/// Random decks of small trainings over all axes: degrees of tensor, pipeline and data, and their
/// options.
#pragma once

#include <cstdint>
#include <string>

#include "tests/support/random/random_deck.hpp"

namespace ziggurat::test {

/// Draws a deck by seed, in fp32, of a model whose sizes the tensor degree divides.
///
/// \param nvme_folder  folder of the NVMe tier of all ranks
/// Errors: Error{internal} if the rules reject a hundred draws
RandomDeck random_deck_of_axes(std::uint64_t seed, int max_ranks, const std::string& nvme_folder);

/// Returns the same training in another layout, on at most the same number of ranks.
///
/// Errors: as random_deck_of_axes
RandomDeck other_layout_of(const RandomDeck& deck, const std::string& nvme_folder);

/// Returns the run of one rank that trains the same model on the same batches.
///
/// In a pipeline without a flush, it has one rank for each stage.
spec::RunSpec alone(const spec::RunSpec& run);

}  // namespace ziggurat::test
