/// Names of kernels, for errors.
#pragma once

#include <string>

namespace emulated_cuda {

/// Returns the name of the function at `address`, as in the source, from the program's symbol table.
std::string name_of_kernel(const void* address);

}  // namespace emulated_cuda
