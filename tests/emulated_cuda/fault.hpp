/// Reports of invalid accesses to memory.
#pragma once

namespace emulated_cuda {

/// Installs the handler of invalid accesses.
///
/// A kernel that accesses memory next to its GPU's then fails with cudaErrorIllegalAddress. A host thread
/// that accesses GPU memory ends the process with SIGSEGV and a line on stderr.
void report_of_faults();

}  // namespace emulated_cuda
