/// Assignment of every buffer to an arena and an offset in it.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// First and last op that name a buffer; {-1, -1} if no op names it.
struct LiveRange {
    int first = -1;
    int last = -1;
};

/// Returns the live range of each buffer, from the operands of all ops.
std::vector<LiveRange> live_ranges(const Program& program);

/// Returns the alignment of a buffer: 64 bytes, or 4096 bytes for buffers of at least 1 MiB.
///
/// place_buffers also aligns buffers that NVMe reads and writes to 4096 bytes, and reserves the rest of their
/// last page.
std::int64_t alignment_of(std::int64_t bytes);

/// Sets Buffer::is_shared, Buffer::offset and Program::arena_bytes.
///
/// Collectives read parameters and gradients directly in the memory of peers. The home of these kinds, and
/// every buffer that a collective uses, are therefore in a shared arena. No other buffer is: each rank of a
/// node maps all shared arenas, which costs page tables.
///
/// Persistent buffers come first, in their order, so they have the same offset in every variant. Values in
/// flight and the inputs follow, then transient buffers, which share the remaining memory by their live
/// ranges in list order. A transient buffer that no op names gets no memory: offset -1.
///
/// Lanes run ahead of the list, so two buffers with disjoint live ranges may be needed at the same time.
/// derive_dependencies, which must run later, orders them by their bytes. Where transfers and collectives
/// that could begin immediately need memory, a buffer gets the bytes that have been free for the longest
/// time. Such a placement is used only if it exceeds a dense one by at most an eighth on the host (apart from
/// the region of passes), and in the shared part of the device the largest sum of live transient bytes by a
/// 36th. The rest of the device is used by compute ops, which run in order: its buffers are placed as densely
/// as possible, which also improves cache use. Best fit in list order is tried first; if it leaves holes of
/// more than a 40th on the device, its buffers are packed again (see BufferPlacer::close).
void place_buffers(Program& program);

}  // namespace ziggurat::schedule
