/// Common declarations of tests on several ranks. Their main (rank_main.cpp) starts MPI and the
/// kernels' runtime.
#pragma once

#include <gtest/gtest.h>

#include "comm/context.hpp"

namespace ziggurat::test {

/// Returns all ranks of the test.
const comm::Context& world();

}  // namespace ziggurat::test
