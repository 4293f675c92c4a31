/// Hash of all weights, to compare two trainings.
#pragma once

#include <cstdint>
#include <functional>

#include "comm/context.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "state/tier_memory.hpp"

namespace ziggurat::train {

/// Returns the hash of all weights: the sum modulo 2^64 of the hashes of all elements of all tensors.
///
/// The hash of an element depends on its fp32 bits, the name of its tensor, and its index in the whole
/// tensor. The weights are the master weights, or the parameters if these are their own masters or frozen.
///
/// Each element is hashed by the rank that saves it. Rows that pad the vocabulary do not count. So the same
/// weights have the same hash for any sharding, replication, padding and home. Ranks send only 8 bytes.
///
/// \param program  the train program: its persistent buffers are the state
/// \param kind     weights, or their average; frozen tensors and tensors that the run does not have in this
///                 kind are left out
/// \param counts   returns false for tensors that are left out; empty: all count
/// Collective: over `world`
std::uint64_t weights_hash(const comm::Context& world,
                           const schedule::ModelLayout& model,
                           const schedule::Program& program,
                           const state::TierMemory& memory,
                           layout::PieceKind kind = layout::PieceKind::weights,
                           const std::function<bool(const layout::Parameter&)>& counts = {});

}  // namespace ziggurat::train
