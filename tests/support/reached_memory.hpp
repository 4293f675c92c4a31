/// Memory for tests of kernels, whose arguments lie in vectors and on the stack: of a kind that GPUs reach.
#pragma once

#include <functional>

namespace ziggurat::test {

/// Calls `work` and returns what it does. That is all in a program that does not link reached_memory.cpp. In
/// one that does, it is, on a GPU (test_stream.hpp) on a thread whose stack the GPU's kernels reach, as they
/// do what `operator new` has given the process from its beginning: pages that the driver keeps in place. A
/// GPU reaches no others of the host unless its driver and the system keep their tables in common.
int run_in_reached_memory(const std::function<int()>& work);

}  // namespace ziggurat::test
