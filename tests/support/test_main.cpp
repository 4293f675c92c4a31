/// gtest's main for plain processes.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <exception>

#include "kernels/runtime.hpp"
#include "tests/support/source_filter.hpp"
#include "tests/support/started_threads.hpp"

int main(int argc, char** argv) {
    try {
        ziggurat::test::read_arguments(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
        return 2;
    }
    // Under the thread sanitizer, which knows nothing of what OpenMP's threads wait for, the limit is 1.
    const ziggurat::kernels::Runtime runtime{std::min(2, omp_get_thread_limit())};
    const int failed = RUN_ALL_TESTS();
    return failed != 0 ? failed : ziggurat::test::check_started_threads();
}
