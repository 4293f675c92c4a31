/// What is said of a touch of memory that nobody may touch.
#pragma once

namespace emulated_cuda {

/// From now on a kernel that touches memory beside its GPU's ends with cudaErrorIllegalAddress, and a thread
/// of the host that touches a GPU's ends the process by SIGSEGV, with a line on stderr.
void tell_of_faults();

}  // namespace emulated_cuda
