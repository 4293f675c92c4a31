/// Sum of this rank's piece of a vector and those of others, in rank order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/stream.hpp"
#include "spec/dtype.hpp"

namespace ziggurat::comm {

/// Where the addends of a sum lie, all on the GPU.
struct PieceAddends {
    const std::byte* own;
    const std::byte* received;  ///< of the other members, in rank order
    std::int64_t apart_bytes;   ///< from one of these to the next
    int size;                   ///< members
    int rank;                   ///< this one
    int sum_group;
};

/// to[i] = sum over members of their element i, with the bits of fold.hpp.
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
