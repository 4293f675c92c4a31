/// Loading of a checkpoint, written on any layout, into the state of a run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_reader.hpp"
#include "comm/context.hpp"
#include "train/step/held_state.hpp"

namespace ziggurat::train {

struct LoadedState {
    std::int64_t bytes_read = 0;               ///< from files, by all ranks
    std::vector<std::string> without_moments;  ///< tensors that were frozen then: their moments are zero now
};

/// Fills master weights, moments, frozen parameters and, from them, parameters on all ranks.
///
/// Every rank reads what it would save: its own piece over the whole data axis, whatever the shard degrees,
/// of the slices that it counts. So ranks together read a checkpoint once that was cut over tensor ranks
/// alike. Those that hold the same slice, copy or shard then get the rest from each other; nothing but a
/// small window is staged in memory of its own. Parameters of a lower precision than their master are its
/// rounding.
///
/// Collective: over `world`
/// Numerics:   values as stored; converted only where the stored type is another
/// Errors:     on all ranks alike: Error{checkpoint} when the checkpoint is damaged or of another model,
///             Error{resource} when a disk fails. The state is then neither the old nor the stored one
LoadedState load_state(const comm::Context& world,
                       const HeldState& state,
                       checkpoint::CheckpointReader& reader);

/// Fills weights alone, of a state that is as it was made: moments stay zero, and adapters as they were drawn
/// where the checkpoint has none.
///
/// Collective: over `world`
/// Errors:     as load_state()
LoadedState load_weights(const comm::Context& world,
                         const HeldState& state,
                         checkpoint::CheckpointReader& reader);

/// The same from a published model, which has no adapters and which every rank opens for itself and reads
/// what it holds of.
///
/// \param told  of bytes of this rank, done and in all; may be empty
/// Collective: over `world`
/// Errors:     on all ranks alike: those of checkpoint::hf::PublishedWeights
LoadedState load_published_weights(const comm::Context& world,
                                   const HeldState& state,
                                   const spec::Model& model,
                                   std::function<void(std::int64_t, std::int64_t)> told = {});

/// Why a checkpoint with this manifest does not fit the model: a tensor that only one of them has, or in
/// another shape. Empty: it fits. Collective: local; pure, the same on all ranks
std::string misfit(const layout::FamilyTable& table, const checkpoint::Manifest& manifest);

/// Whether the checkpoint has adapters. Collective: local; pure, the same on all ranks
bool has_adapters(const checkpoint::Manifest& manifest);

}  // namespace ziggurat::train
