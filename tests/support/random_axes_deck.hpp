/// Random decks of small trainings over all axes: degrees of tensor, pipeline and data, with what goes with
/// them.
#pragma once

#include <cstdint>
#include <string>

#include "tests/support/random_deck.hpp"

namespace ziggurat::test {

/// The same deck for the same seed, in fp32, of models whose extents the tensor degree divides.
///
/// \param nvme_folder  where the NVMe tier of all ranks lies
/// Errors: Error{internal} when none of a hundred draws is taken
RandomDeck random_deck_of_axes(std::uint64_t seed, int most_ranks, const std::string& nvme_folder);

/// The same training in another layout, on as many ranks or fewer.
///
/// Errors: as random_deck_of_axes
RandomDeck other_layout_of(const RandomDeck& deck, const std::string& nvme_folder);

/// The run of one rank that trains the same model on the same batches.
spec::RunSpec alone(const spec::RunSpec& run);

}  // namespace ziggurat::test
