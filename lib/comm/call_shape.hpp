/// Shape of a call: numbers that follow from its description alone.
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

/// Blocks that member `rank` reads, from call.input, and those that it writes, from call.output. What lies in
/// its place already is not written.
std::vector<Block> blocks_read(const CollectiveCall& call, int rank);
std::vector<Block> blocks_written(const CollectiveCall& call, int rank);

/// Part of this member's input that others read, measured from `input` plus its offset.
Block part_read_by_others(const CollectiveCall& call, int rank) noexcept;

/// Bytes of all inputs and outputs of all members: too many, and the caches do not hold the call.
std::int64_t bytes_touched(const CollectiveCall& call, int size) noexcept;

/// Bytes that member `rank` reads from and writes to the memory of others in one execution.
///
/// \param pulls  all_to_all: by member m, which block of m's input is for this one
std::int64_t bytes_to_pull(const CollectiveCall& call, std::span<const Block> pulls, int size, int rank);

}  // namespace ziggurat::comm
