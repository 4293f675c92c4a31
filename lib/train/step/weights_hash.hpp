/// Hash of all weights, so that two trainings can be compared.
#pragma once

#include <cstdint>

#include "comm/context.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "state/tier_memory.hpp"

namespace ziggurat::train {

/// The sum modulo 2^64, over all elements of all tensors of the model, of a hash of the element's fp32 bits,
/// its tensor's name and its place in that whole tensor. Of master weights, or of the parameters where they
/// are their own masters or frozen.
///
/// Each element is hashed by the rank that saves it; rows that pad the vocabulary do not count. So the same
/// weights have the same hash however they are cut, copied, padded or kept, and nothing but 8 bytes travels.
///
/// \param program  the train program: its persistent buffers are the state
/// Collective: over `world`
std::uint64_t weights_hash(const comm::Context& world,
                           const schedule::ModelLayout& model,
                           const schedule::Program& program,
                           const state::TierMemory& memory);

}  // namespace ziggurat::train
