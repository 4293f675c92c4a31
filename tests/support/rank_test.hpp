/// What tests on several ranks share. Their main (rank_main.cpp) starts MPI and the kernels' runtime.
#pragma once

#include <gtest/gtest.h>

#include "comm/context.hpp"

namespace ziggurat::test {

/// All ranks of the test.
const comm::Context& world();

}  // namespace ziggurat::test
