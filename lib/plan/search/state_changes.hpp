/// Changes of a deck's state: sharding, recomputation, homes, saves and the order of micro-batches.
///
/// Only changes.cpp and remedies.cpp include this file.
#pragma once

#include <cstddef>
#include <vector>

#include "plan/search/changes.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Returns the ZeRO stages above that of the spans of `from`; empty if the spans match no stage.
std::vector<DeckEdit> higher_stages(const DeckEdit& from);

/// Returns the recomputation that changes may increase.
///
/// If stages have their own, no key changes that of all stages: `full` then prevents changes.
spec::RecomputeKind kind_of(const spec::RunSpec& spec);

DeckEdit recomputing(DeckEdit from, spec::RecomputeKind kind);

/// Number of kinds of state that have a home.
inline constexpr std::size_t num_kinds_of_homes = 4;

/// Moves the homes of the first `kinds` kinds that leave the device (see choose_homes) to `tier`.
///
/// Homes that are already there or further out stay. Returns no overrides if all of them do.
DeckEdit moved_out(DeckEdit from, std::size_t kinds, spec::Tier tier);

/// Leaves all homes to choose_homes(). Returns no overrides if stages have their own homes.
DeckEdit with_auto_homes(DeckEdit from);

/// Returns `from` with maximum sharding, full recomputation and micro-batches of one sample.
DeckEdit smallest(DeckEdit from);

/// Makes training wait while files are written, so that no copy of the state is needed.
DeckEdit waiting_for_saves(DeckEdit from);

/// Runs the micro-batches one after another, so that activations of only one exist at a time.
DeckEdit by_micro_batch(DeckEdit from);

}  // namespace ziggurat::plan
