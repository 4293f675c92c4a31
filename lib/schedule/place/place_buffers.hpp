/// An arena and a place in it for every buffer.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// The ops that name a buffer first and last; {-1, -1} when none does.
struct LiveRange {
    int first = -1;
    int last = -1;
};

/// By buffer, from the operands of all ops.
std::vector<LiveRange> live_ranges(const Program& program);

/// Where buffers begin: multiples of 64 bytes, or of 4096 for those of at least 1 MiB and those that NVMe
/// reads and writes, which also have the rest of their last page to themselves.
std::int64_t alignment_of(std::int64_t bytes);

/// Sets Buffer::is_shared, Buffer::offset and Program::arena_bytes.
///
/// Parameters and gradients at home, and whatever a collective touches, lie in a shared arena: peers read
/// them where they are. Nothing else does: each rank of a node maps all shared arenas, which costs page
/// tables.
///
/// Persistent buffers come first, in their order, so they lie at the same place in every variant; then the
/// inputs; then transient ones, which share what is left by their live ranges in list order. A transient
/// buffer that no op names gets no memory: offset -1.
///
/// Lanes run ahead of the list, so two buffers whose ranges do not meet may still be wanted at one time:
/// derive_dependencies, which must come after, orders them by their bytes. Where memory is wanted for
/// transfers and collectives that could begin at once, a buffer therefore lies where the bytes have been free
/// for longest, unless that takes more transient memory than it is worth: an eighth on the host, a 32nd of
/// what is shared on the device. The rest of the device is for what computes, in order: buffers lie as close
/// as can be there, which caches like.
void place_buffers(Program& program);

}  // namespace ziggurat::schedule
