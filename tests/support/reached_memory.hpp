/// GPU-accessible memory for tests of kernels, whose arguments are in vectors and on the stack.
#pragma once

#include <functional>

namespace ziggurat::test {

/// Calls `work` and returns its result.
///
/// In a program that links reached_memory.cpp, with tests on a GPU (test_stream.hpp), it runs on a thread
/// whose stack the GPU's kernels can access. They can also access the memory of `operator new`, from the
/// start of the process: it consists of pages pinned by the driver. A GPU cannot access other host memory,
/// unless its driver and the system share page tables.
int run_in_reached_memory(const std::function<int()>& work);

}  // namespace ziggurat::test
