/// Limits on the thread blocks that NCCL kernels use on a GPU.
#pragma once

namespace ziggurat::layout {

/// Maximum number of thread blocks of the kernels of one communicator.
///
/// Kernels of several communicators may start in different orders on different ranks, and they wait for their
/// peers. The GPU must therefore have room for all of them at once. Up to five groups of a rank and four
/// directions to its pipeline neighbours take 112 of an H100's 132 multiprocessors. `ziggurat check` adds up
/// the blocks of a run (plan/gpu/nccl_room.hpp). The environment variable NCCL_MAX_CTAS overrides both.
///
/// Source: NCCL's user guide, "Using multiple NCCL communicators concurrently"; NVIDIA/nccl, issue 522
inline constexpr int max_blocks_of_group = 16;
inline constexpr int max_blocks_of_pair = 8;

}  // namespace ziggurat::layout
