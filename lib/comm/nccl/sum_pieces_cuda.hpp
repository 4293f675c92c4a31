/// Sum of pieces of a vector, of this rank and others, in rank order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/stream.hpp"
#include "spec/dtype.hpp"

namespace ziggurat::comm {

/// Addresses of the addends of a sum, all on the GPU.
struct PieceAddends {
    const std::byte* own;
    const std::byte* received;  ///< pieces of the other members, in rank order
    std::int64_t apart_bytes;   ///< distance between these pieces
    int size;                   ///< number of members
    int rank;                   ///< rank of this member
    int sum_group;
};

/// Computes to[i] = sum over members of their element i, with the bits of fold.hpp.
///
/// Shapes:   each addend and `to` [elements], of `type`
/// Numerics: fp32, rounded once to `type`
/// Aliasing: `to` may be addends.own
/// Async:    on `stream`, of a GPU
void sum_pieces(const device::Stream& stream,
                const PieceAddends& addends,
                std::byte* to,
                std::int64_t elements,
                spec::DType type);

}  // namespace ziggurat::comm
