/// What tests on several ranks share. Their main (rank_main.cpp) starts MPI and the kernels' runtime.
#pragma once

#include <gtest/gtest.h>

#include "comm/communicator.hpp"

namespace ziggurat::test {

/// All ranks of the test.
const comm::Communicator& world();

}  // namespace ziggurat::test

/// Skips the test on all ranks alike when there are fewer than `n`.
#define ZG_NEEDS_RANKS(n)                                \
    do {                                                 \
        if (::ziggurat::test::world().size() < (n)) {    \
            GTEST_SKIP() << "needs " << (n) << " ranks"; \
        }                                                \
    } while (false)
