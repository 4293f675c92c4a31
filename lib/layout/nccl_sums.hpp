/// NCCL reductions: which sums ranks compute themselves from received pieces, and their scratch memory.
#pragma once

#include <cstdint>
#include <span>

#include "spec/dtype.hpp"

namespace ziggurat::layout {

/// GPU scratch of a group with such sums: the bytes received at a time from all members together.
inline constexpr std::int64_t nccl_scratch_bytes = std::int64_t{64} << 20;

/// One member's block of a vector, in bytes; may be empty.
struct VectorBlock {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
};

/// Returns true if blocks are equal, not empty and contiguous, as NCCL's collectives require.
bool are_one_vector(std::span<const VectorBlock> blocks);

/// Returns true if ranks compute a sum themselves from received pieces.
///
/// This is necessary if NCCL would round more than once, or if blocks are not one vector.
///
/// \param blocks  one for each member
bool is_summed_in_pieces(spec::DType type, std::span<const VectorBlock> blocks);

}  // namespace ziggurat::layout
