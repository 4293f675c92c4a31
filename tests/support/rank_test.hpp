/// What tests on several ranks share. Their main (rank_main.cpp) starts MPI and the kernels' runtime.
#pragma once

#include <gtest/gtest.h>

#include "comm/communicator.hpp"

namespace ziggurat::test {

/// All ranks of the test.
const comm::Communicator& world();

}  // namespace ziggurat::test
