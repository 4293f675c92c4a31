/// Thread blocks that kernels of NCCL take on a GPU.
#pragma once

namespace ziggurat::layout {

/// Thread blocks that the kernels of a communicator take at most. Kernels of several communicators may start
/// in different orders on different ranks, and wait for their peers: they need room for all of them at once.
/// Up to five groups of a rank and four directions to its neighbours in the pipeline take 112 of an H100's
/// 132 multiprocessors; `ziggurat check` adds up those of a run (plan/gpu/nccl_blocks.hpp). NCCL_MAX_CTAS in
/// the environment overrides both.
///
/// Source: NCCL's user guide, "Using multiple NCCL communicators concurrently"; NVIDIA/nccl, issue 522
inline constexpr int max_blocks_of_group = 16;
inline constexpr int max_blocks_of_pair = 8;

}  // namespace ziggurat::layout
