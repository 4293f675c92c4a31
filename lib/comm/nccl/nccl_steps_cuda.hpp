/// Steps of a call: the operations of NCCL and the GPU for it, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/collectives.hpp"

namespace ziggurat::comm {

/// Message of a step; `peer` is the other end.
struct NcclMessage {
    int peer;
    const std::byte* from;  ///< nullptr: a receive
    std::byte* to;
    std::int64_t bytes;
};

struct NcclStep {
    enum class Kind {
        messages,        ///< all of them at once
        all_gather,      ///< this and the next three are NCCL calls: `bytes` are those of one member
        reduce_scatter,  ///<
        all_reduce,      ///< `bytes` are those of the vector
        broadcast,       ///<
        sum,             ///< of `from` and the pieces received in the scratch
        copy,
    };
    Kind kind;
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::int64_t bytes = 0;
    int root = 0;
    std::vector<NcclMessage> messages = {};
    std::int64_t bytes_moved = 0;  ///< as in Collectives::bytes_moved
};

/// Memory that receives pieces of other members for sums on this GPU.
struct NcclScratch {
    std::byte* data = nullptr;
    std::int64_t bytes = 0;

    /// Distance between the pieces of two members, and maximum size of a piece: whole cache lines.
    std::int64_t piece_bytes(int size) const noexcept;
};

/// True if the sum is computed by a kernel, of pieces in the scratch: see layout::is_summed_in_pieces.
bool needs_scratch(const CollectiveCall& call);

/// Returns the steps of a call.
///
/// They are identical on all members, except addresses. All vectors are on the GPU.
///
/// \param scratch  used if needs_scratch()
std::vector<NcclStep> steps_of(const CollectiveCall& call, int size, int rank, const NcclScratch& scratch);

}  // namespace ziggurat::comm
