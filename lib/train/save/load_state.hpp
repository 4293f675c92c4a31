/// Loading of a checkpoint, written on any layout, into the state of a run.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "checkpoint/checkpoint_reader.hpp"
#include "comm/context.hpp"
#include "train/step/state_view.hpp"

namespace ziggurat::train {

/// Loads master weights, moments and frozen parameters on all ranks, and sets the parameters from them.
///
/// Returns the bytes read from files, summed over all ranks.
///
/// Every rank reads the pieces that it would save: its shard over the whole data axis, for any shard degree,
/// of the slices that it counts. So the ranks together read a checkpoint once if it has the same split over
/// tensor ranks. Ranks that hold the same slice, copy or shard then send each other the rest. Only a small
/// window is staged in additional memory. Parameters of a lower precision are rounded from their masters.
/// Moments of tensors_without_moments() are zero.
///
/// Collective: over `world`
/// Numerics:   values as stored; converted only if the stored type differs
/// Errors:     on all ranks: Error{deck} if the checkpoint belongs to another model; Error{checkpoint} if it
///             is corrupt, Error{resource} if a disk fails. After the last two, the state is undefined
std::int64_t load_state(const comm::Context& world,
                        const StateView& state,
                        checkpoint::CheckpointReader& reader);

/// Loads only the weights, into a newly created state.
///
/// Moments stay zero. If the checkpoint has no adapters, adapters keep their random initial values.
///
/// Collective: over `world`
/// Errors:     those of load_state()
std::int64_t load_weights(const comm::Context& world,
                          const StateView& state,
                          checkpoint::CheckpointReader& reader);

/// Loads only the weights, from a Hugging Face model, which has no adapters.
///
/// Every rank opens the model itself and reads the parts that it holds.
///
/// \param on_progress  progress callback: bytes of this rank that are read, and their total; may be empty
/// Collective: over `world`
/// Errors:     on all ranks: those of checkpoint::hf::HfWeights
std::int64_t load_published_weights(const comm::Context& world,
                                    const StateView& state,
                                    const spec::Model& model,
                                    std::function<void(std::int64_t, std::int64_t)> on_progress = {});

/// Throws unless the checkpoint at `path` has exactly the tensors of the model, in the same shapes.
///
/// Collective: local; pure, the same on all ranks
/// Errors:     Error{deck} that names a tensor which differs
void expect_same_tensors(const layout::FamilyTable& table,
                         const checkpoint::Manifest& manifest,
                         const std::string& path);

/// Throws as expect_same_tensors(), but for loading only weights: the checkpoint may lack adapters.
void expect_same_weights(const layout::FamilyTable& table,
                         const checkpoint::Manifest& manifest,
                         const std::string& path);

/// Returns the trained tensors of which the checkpoint has only weights: they were frozen in it.
///
/// Collective: local; pure, the same on all ranks
std::set<std::string> tensors_without_moments(const layout::FamilyTable& table,
                                              const checkpoint::Manifest& manifest);

/// Returns true if the checkpoint has adapters. Collective: local; pure, the same on all ranks
bool has_adapters(const checkpoint::Manifest& manifest);

}  // namespace ziggurat::train
