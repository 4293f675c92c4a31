/// Loading of a checkpoint, written on any layout, into the state of a run.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "checkpoint/checkpoint_reader.hpp"
#include "comm/context.hpp"
#include "train/step/held_state.hpp"

namespace ziggurat::train {

/// Fills master weights, moments, frozen parameters and, from them, parameters on all ranks.
///
/// Every rank reads what it would save: its own piece over the whole data axis, whatever the shard degrees,
/// of the slices that it counts. So ranks together read a checkpoint once that was cut over tensor ranks
/// alike. Those that hold the same slice, copy or shard then get the rest from each other; nothing but a
/// small window is staged in memory of its own. Parameters of a lower precision than their master are its
/// rounding; moments of tensors_without_moments() are zero. Returns the bytes read from files, by all ranks.
///
/// Collective: over `world`
/// Numerics:   values as stored; converted only where the stored type is another
/// Errors:     on all ranks alike: Error{deck} when the checkpoint is of another model; Error{checkpoint}
/// when
///             it is damaged, Error{resource} when a disk fails: then the state is neither the old nor the
///             stored one
std::int64_t load_state(const comm::Context& world,
                        const HeldState& state,
                        checkpoint::CheckpointReader& reader);

/// Fills weights alone, of a state that is as it was made: moments stay zero, and adapters as they were drawn
/// where the checkpoint has none.
///
/// Collective: over `world`
/// Errors:     as load_state()
std::int64_t load_weights(const comm::Context& world,
                          const HeldState& state,
                          checkpoint::CheckpointReader& reader);

/// The same from a published model, which has no adapters and which every rank opens for itself and reads
/// what it holds of.
///
/// \param told  of bytes of this rank, done and in all; may be empty
/// Collective: over `world`
/// Errors:     on all ranks alike: those of checkpoint::hf::PublishedWeights
std::int64_t load_published_weights(const comm::Context& world,
                                    const HeldState& state,
                                    const spec::Model& model,
                                    std::function<void(std::int64_t, std::int64_t)> told = {});

/// A checkpoint of `path` with this manifest has the tensors of the model in its shapes, and no others.
///
/// Collective: local; pure, the same on all ranks
/// Errors:     Error{deck} that names one which differs
void expect_same_tensors(const layout::FamilyTable& table,
                         const checkpoint::Manifest& manifest,
                         const std::string& path);

/// The same for weights alone, which may be without adapters.
void expect_same_weights(const layout::FamilyTable& table,
                         const checkpoint::Manifest& manifest,
                         const std::string& path);

/// Trained tensors that the checkpoint has weights alone of: they were frozen when it was written.
///
/// Collective: local; pure, the same on all ranks
std::set<std::string> tensors_without_moments(const layout::FamilyTable& table,
                                              const checkpoint::Manifest& manifest);

/// Whether the checkpoint has adapters. Collective: local; pure, the same on all ranks
bool has_adapters(const checkpoint::Manifest& manifest);

}  // namespace ziggurat::train
