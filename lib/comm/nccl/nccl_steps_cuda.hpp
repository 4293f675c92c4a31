/// Steps of a call: what NCCL and the GPU do for it, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/collectives.hpp"

namespace ziggurat::comm {

/// A message of a step; `peer` is its other end.
struct NcclMessage {
    int peer;
    const std::byte* from;  ///< nullptr: it is received
    std::byte* to;
    std::int64_t bytes;
};

struct NcclStep {
    enum class Kind {
        messages,        ///< all of them at once
        all_gather,      ///< the rest are the library's: `bytes` are those of one member
        reduce_scatter,  ///<
        all_reduce,      ///< `bytes` are those of the vector
        broadcast,       ///<
        sum,             ///< of `from` and the pieces that have come to the scratch
        copy,
    };
    Kind kind;
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::int64_t bytes = 0;
    int root = 0;
    std::vector<NcclMessage> messages = {};
    std::int64_t bytes_moved = 0;  ///< counted as Collectives::bytes_moved
};

/// Where pieces of others come to that are summed here.
struct NcclScratch {
    std::byte* data = nullptr;
    std::int64_t bytes = 0;

    /// From one member's piece to the next, and the most bytes of one: whole cache lines.
    std::int64_t piece_bytes(int size) const noexcept;
};

/// Whether sums are made here, of pieces that come to the scratch: see layout::is_summed_in_pieces.
bool needs_scratch(const CollectiveCall& call);

/// Alike on all members, but for addresses. All vectors are the GPU's.
///
/// \param scratch  where the call needs it
std::vector<NcclStep> steps_of(const CollectiveCall& call, int size, int rank, const NcclScratch& scratch);

}  // namespace ziggurat::comm
