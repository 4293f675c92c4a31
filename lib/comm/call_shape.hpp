/// What follows from a call's description alone, for members that read each other's memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/collectives.hpp"

namespace ziggurat::comm {

bool is_sum(CollectiveKind kind) noexcept;

std::int64_t bytes_of_all(std::span<const Block> blocks) noexcept;

/// From the first to the last byte of the blocks that have any.
Block hull(std::span<const Block> blocks) noexcept;

/// What others read of this member's input, measured from where `input` and its offset point.
Block part_read_by_others(const CollectiveCall& call, int rank) noexcept;

/// Bytes of all inputs and outputs of all members: whether the caches hold a call.
std::int64_t bytes_touched(const CollectiveCall& call, int size) noexcept;

/// What member `rank` reads from and writes to the memory of others in one execution.
///
/// \param pulls  all_to_all: by member m, which block of m's input is for this one
std::int64_t bytes_to_pull(const CollectiveCall& call, std::span<const Block> pulls, int size, int rank);

}  // namespace ziggurat::comm
