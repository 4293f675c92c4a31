/// Choice of the layout that a deck leaves to the planner.
#pragma once

#include "deck/resolve/resolve.hpp"

namespace ziggurat::deck {

/// Returns the rules of a deck for its layouts. They have copies of all that they need.
///
/// Call before resolve().
spec::LayoutRules layout_rules(const Resolution& resolution);

/// Chooses the layout if a key that opens it is auto.
///
/// These are parallel.tensor, parallel.pipeline, sharding.zero, the three spans of sharding, and
/// train.micro_batch; parallel.sequence and recompute.kind are chosen with them if they are auto. Chosen
/// spans are written as a ZeRO stage if they are one and the deck names no span. Call before resolve().
/// Returns false, after errors, if the deck cannot be searched.
bool resolve_auto_layout(Resolution& resolution);

}  // namespace ziggurat::deck
