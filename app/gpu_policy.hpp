/// Settings of CUDA and NCCL, which take them from the environment.
#pragma once

namespace ziggurat::app {

/// Sets variables of the environment that the user has not set. Call before anything of CUDA. Does nothing in
/// a build without GPUs.
///
/// CUDA_DEVICE_MAX_CONNECTIONS=32: the driver keeps 32 streams apart, its maximum. The default is 8, and
/// streams beyond
///     those wait for each other's work: a transfer that waits for another rank would then hold up what that
///     rank waits for.
/// NCCL_ALGO: sums go round rings, so a run on the same ranks gives the same bits again. By default NCCL
/// chooses between
///     rings, trees and sums in the switch (NVLS), whose order it does not promise.
/// NCCL_LAUNCH_ORDER_IMPLICIT=1: kernels of several communicators start in the order of their calls.
///
/// Source: NCCL 2.28, "Environment Variables"; Megatron-LM's deterministic mode asks for the same of
/// NCCL_ALGO.
void choose_gpu_policy();

}  // namespace ziggurat::app
