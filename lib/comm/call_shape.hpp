/// Shape of a call: numbers that follow from its description.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/collectives.hpp"

namespace ziggurat::comm {

std::int64_t bytes_of_all(std::span<const Block> blocks) noexcept;

/// Returns the range from the first to the last byte of the blocks that are not empty.
Block hull(std::span<const Block> blocks) noexcept;

/// Return the blocks that member `rank` reads from call.input, and those that it writes to call.output.
///
/// Data that is already at its destination is not written.
std::vector<Block> blocks_read(const CollectiveCall& call, int rank);
std::vector<Block> blocks_written(const CollectiveCall& call, int rank);

/// Returns the range of this member's input that others read, relative to `input` plus its offset.
Block part_read_by_others(const CollectiveCall& call, int rank) noexcept;

/// Returns the bytes of all inputs and outputs of all members.
///
/// The number decides if the call fits in the caches.
std::int64_t bytes_touched(const CollectiveCall& call, int size) noexcept;

/// Returns the bytes that member `rank` reads from and writes to others' memory in one execution.
///
/// \param pulls  all_to_all: for each member m, the block of m's input for this member
std::int64_t bytes_to_pull(const CollectiveCall& call, std::span<const Block> pulls, int size, int rank);

}  // namespace ziggurat::comm
