/// Sums by NCCL: which of them ranks make themselves, of received pieces, and in how much memory.
#pragma once

#include <cstdint>
#include <span>

#include "spec/dtype.hpp"

namespace ziggurat::layout {

/// Scratch on the GPU of a group that has such sums: so much is received at a time, of all members together.
inline constexpr std::int64_t nccl_scratch_bytes = std::int64_t{16} << 20;

/// A member's part of a vector, in bytes; may be empty.
struct VectorBlock {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
};

/// Whether blocks are equal, not empty, and each begins where the one before it ends: what NCCL's collectives
/// take.
bool are_one_vector(std::span<const VectorBlock> blocks);

/// Whether a sum is made of received pieces: where NCCL would round more often than once, and where blocks
/// are not one vector.
///
/// \param blocks  one for each member
bool is_summed_in_pieces(spec::DType type, std::span<const VectorBlock> blocks);

}  // namespace ziggurat::layout
