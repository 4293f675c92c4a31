/// Sections of a random deck for sharding, tiers, movement and numerics.
#pragma once

#include <string>

#include "tests/support/deck_text.hpp"
#include "tests/support/random/draw.hpp"

namespace ziggurat::test {

/// Kinds of drawn decks.
///
/// `tiers` has offloaded state. `tiers_by_formula` also has closed forms of the moved bytes: all state is
/// sharded over all ranks, and each kind has its home in one tier.
enum class Draws { anything, tiers, tiers_by_formula };

/// Time of updates, which restricts how gradients are clipped.
enum class UpdateTime { after_backward, in_backward, speculative };

/// Draws the section `sharding`.
void draw_sharding(Draw& draw, DeckText& deck, int ranks, Draws draws);

/// Draws the sections `tiers`, `overlap`, `recompute` and `debug`.
///
/// \param nvme_folder  empty for decks without tiers
UpdateTime draw_movement(Draw& draw, DeckText& deck, int ranks, const std::string& nvme_folder, Draws draws);

/// Draws the sections `precision`, `optimizer` and `schedule`.
void draw_numerics(Draw& draw, DeckText& deck, UpdateTime updates);

}  // namespace ziggurat::test
