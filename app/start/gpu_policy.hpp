/// Environment variables for CUDA and NCCL.
#pragma once

namespace ziggurat::app {

/// Sets environment variables that the user has not set. Does nothing in a build without GPUs.
///
/// Call before any call of CUDA.
///
/// CUDA_DEVICE_MAX_CONNECTIONS=32: number of hardware queues, the maximum of the driver. The default is 8.
///     Streams that share a queue wait for each other's work. A transfer that waits for another rank could
///     then block the work that this other rank waits for.
/// NCCL_ALGO: reductions use rings, so that a run on the same ranks is bitwise reproducible. By default, NCCL
///     chooses between rings, trees and reductions in the switch (NVLS), without a guaranteed order.
///
/// NCCL_LAUNCH_ORDER_IMPLICIT stays 0, NCCL's default. With 1, the kernels of all communicators would start
/// in the order of their calls. Calls wait on the GPU for their inputs, and their order differs between
/// ranks, so two ranks could wait for each other. Instead, all kernels fit on the GPU at once
/// (layout/nccl_blocks.hpp).
///
/// Source: NCCL 2.28, "Environment Variables"; Megatron-LM's deterministic mode requires the same of
/// NCCL_ALGO.
void choose_gpu_policy();

}  // namespace ziggurat::app
