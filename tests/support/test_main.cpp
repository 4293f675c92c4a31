/// gtest's main for plain processes.
#include <gtest/gtest.h>

#include <cstdio>
#include <exception>

#include "kernels/runtime.hpp"
#include "tests/support/source_filter.hpp"

int main(int argc, char** argv) {
    try {
        ziggurat::test::read_arguments(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
        return 2;
    }
    const ziggurat::kernels::Runtime runtime{2};
    return RUN_ALL_TESTS();
}
