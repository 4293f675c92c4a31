/// Names of kernels, for errors.
#pragma once

#include <string>

namespace emulated_cuda {

/// The function at `address` as its source writes it, read from the program's table of symbols.
std::string name_of_kernel(const void* address);

}  // namespace emulated_cuda
