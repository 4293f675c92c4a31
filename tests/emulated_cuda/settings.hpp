/// What the environment says of the emulated GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace emulated_cuda {

enum class Mode {
    late,    ///< work of streams runs when somebody polls or waits; until then device memory faults
    threads  ///< each stream is a thread, which waits at random
};

/// ZIGGURAT_EMULATED_CUDA=late|threads, and with that in front _SEED, _MEMORY (bytes of a GPU), _DEVICES,
/// _FIRST, _SHARED. Where the first is not set, it is `late`; under the thread sanitizer `threads`, which it
/// is for.
struct Settings {
    Mode mode;
    std::uint64_t seed;
    std::size_t memory;
    int devices;  ///< as many as a process sees
    int first;    ///< of the machine's GPUs, the first that a process sees; `rank`: as mpirun numbers it
    std::size_t shared_bytes;  ///< of a block, if its kernel asks for it
};
/// Read once. A value that is none ends the process.
const Settings& settings();

/// What can be made to fail; `illegal` is the access of a launched kernel, found when it runs. `nccl` is an
/// operation of NCCL, which tells of it when it is asked; `nccl_start` the start of a communicator.
enum class Fault { malloc, pin, copy, launch, illegal, lost, nccl, nccl_start };

/// Counts a call, and says whether the environment has it fail: ZIGGURAT_EMULATED_CUDA_FAULT=malloc:3,lost:9
/// is the third reservation, and the ninth of all calls that give a GPU work or reserve its memory.
bool is_to_fail(Fault fault);
/// The same as if the environment had it; calls are counted from now on. An empty one: none.
void set_faults(const std::string& faults);

/// The version of the driver: ZIGGURAT_EMULATED_CUDA_DRIVER=12040 is that of CUDA 12.4, 0 is none.
int driver_version();
/// The same as if the environment had it.
void set_driver_version(int version);

}  // namespace emulated_cuda
