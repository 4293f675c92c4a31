/// gtest's main for plain processes.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>

#include "kernels/launch/runtime.hpp"
#include "tests/support/program/source_filter.hpp"
#include "tests/support/program/started_threads.hpp"
#include "tests/support/reached_memory.hpp"

[[gnu::weak]] int ziggurat::test::run_in_reached_memory(const std::function<int()>& work) {
    return work();
}

int main(int argc, char** argv) {
    // A shell that runs the tests in the background ignores SIGINT, and the tested code does not change that.
    std::signal(SIGINT, SIG_DFL);
    try {
        ziggurat::test::read_arguments(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
        return 2;
    }
    const int failed = ziggurat::test::run_in_reached_memory([] {
        // The limit is 1 under the thread sanitizer, which does not know OpenMP's synchronization.
        const ziggurat::kernels::Runtime runtime{std::min(2, omp_get_thread_limit())};
        return RUN_ALL_TESTS();
    });
    return failed != 0 ? failed : ziggurat::test::check_started_threads();
}
