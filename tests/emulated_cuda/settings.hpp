/// Settings of the emulated GPUs from the environment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace emulated_cuda {

enum class Mode {
    late,    ///< work runs when the host polls or waits; until then device memory faults
    threads  ///< each stream is a thread that waits at random
};

/// Settings from ZIGGURAT_EMULATED_CUDA=late|threads and from variables with that prefix.
///
/// These are _SEED, _MEMORY (bytes of a GPU), _DEVICES, _FIRST, _SHARED. The default mode is `late`, and
/// `threads` under the thread sanitizer, for which it exists.
struct Settings {
    Mode mode;
    std::uint64_t seed;
    std::size_t memory;
    int devices;               ///< number that a process sees
    int first;                 ///< index of the first GPU that a process sees; `rank`: the rank in mpirun
    std::size_t shared_bytes;  ///< maximum per block, if its kernel requests it
};
/// Returns the settings, read once. An invalid value ends the process.
const Settings& settings();

/// Operations that can be made to fail.
///
/// `illegal` is the access of a launched kernel, detected when it runs. `nccl` is an operation of NCCL,
/// reported when its state is queried; `nccl_start` is the start of a communicator.
enum class Fault { malloc, pin, copy, launch, illegal, lost, nccl, nccl_start };

/// Counts a call, and returns true if the environment makes it fail.
///
/// ZIGGURAT_EMULATED_CUDA_FAULT=malloc:3,lost:9 fails the third allocation, and the ninth of all calls that
/// submit work to a GPU or allocate its memory.
bool is_to_fail(Fault fault);
/// Sets the faults as if by the environment, and restarts the count of calls. Empty: no faults.
void set_faults(const std::string& faults);

/// Returns the driver version: ZIGGURAT_EMULATED_CUDA_DRIVER=12040 means CUDA 12.4; 0 means no driver.
int driver_version();
/// Sets the driver version as if by the environment.
void set_driver_version(int version);

}  // namespace emulated_cuda
