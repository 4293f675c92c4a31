/// gtest's main for several ranks. Rank 0 prints as usual, the others only failures.
///
/// A failure on any rank fails the job.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>

#include "comm/control.hpp"
#include "comm/session/session.hpp"
#include "comm/watch/liveness.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/program/source_filter.hpp"
#include "tests/support/rank_test.hpp"

namespace ziggurat::test {
namespace {

const comm::Context* the_world = nullptr;

/// Prints the failures of a rank; passing tests are silent.
class FailuresOnly : public ::testing::EmptyTestEventListener {
    void OnTestPartResult(const ::testing::TestPartResult& part) override {
        if (part.failed()) {
            std::fprintf(stderr, "[rank %d] %s:%d\n%s\n", world().rank(), part.file_name(),
                         part.line_number(), part.message());
        }
    }
};

int run_all_tests() {
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    if (world().rank() != 0) {
        delete listeners.Release(listeners.default_result_printer());
        listeners.Append(new FailuresOnly);
    }
    std::int64_t failed = RUN_ALL_TESTS();
    comm::all_reduce_max(world(), std::span{&failed, 1});
    return static_cast<int>(failed);
}

/// Restarts the program with an OpenMP runtime whose threads sleep while they wait.
///
/// Tests usually have more ranks than cores, so spinning threads would block other ranks. The runtime reads
/// the variable when it is loaded.
void let_threads_sleep(char** argv) {
    if (std::getenv("OMP_WAIT_POLICY") == nullptr) {
        setenv("OMP_WAIT_POLICY", "passive", 1);
        execv("/proc/self/exe", argv);
    }
}

}  // namespace

const comm::Context& world() {
    return *the_world;
}

}  // namespace ziggurat::test

int main(int argc, char** argv) {
    using namespace ziggurat;
    test::let_threads_sleep(argv);
    try {
        test::read_arguments(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
        return 2;
    }
    const comm::Session session{&argc, &argv};
    try {
        // An exception on one rank leaves the others waiting for it: end the job immediately.
        GTEST_FLAG_SET(catch_exceptions, false);
        const test::TestKernels kernels{
            1, std::uint64_t{1000} * static_cast<std::uint64_t>(session.world().rank())};
        test::the_world = &session.world();
        return test::run_all_tests();
    } catch (const std::exception& error) {
        session.world().liveness()->fail(1, error.what());
    }
}
