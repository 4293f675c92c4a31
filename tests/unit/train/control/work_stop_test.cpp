#include "train/control/work_stop.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/failure.hpp"

namespace ziggurat::train {
namespace {

constexpr std::int64_t hour = 3'600'000'000'000;

/// Returns the text of the Stopped that the check throws; empty if it throws nothing.
std::string stopped_by(const StopCheck& check) {
    try {
        check();
        return "";
    } catch (const Stopped& stopped) {
        return stopped.what();
    }
}

TEST(WorkStop, EndsWorkAfterASignal) {
    const StopSignals signals;
    const WorkStop stop{signals};
    const auto check = stop.check_of("encodes records");
    EXPECT_EQ(stopped_by(check), "");
    raise(SIGUSR2);
    EXPECT_EQ(stopped_by(check), "") << "it requests a checkpoint";
    raise(SIGTERM);
    const std::string text =
        "stopped while it encodes records (received SIGTERM). Run the same command again; this work is "
        "repeated.";
    EXPECT_EQ(stopped_by(check), text);
    EXPECT_EQ(stopped_by(check), text) << "each thread of the work must see it";
}

TEST(WorkStop, EndsWorkAtTheEarliestEnd) {
    const StopSignals signals;
    WorkStop stop{signals};
    stop.end_at(monotonic_ns() + hour, "ZIGGURAT_STOP_AT");
    EXPECT_EQ(stop.reason(), "");
    stop.end_at(monotonic_ns(), "run.time_limit");
    EXPECT_EQ(stop.reason(), "run.time_limit is reached");
    stop.end_at(monotonic_ns() + hour, "the end of Slurm job 7");
    EXPECT_EQ(stop.reason(), "run.time_limit is reached");
    EXPECT_EQ(stopped_by(stop.check_of("loads weights", "Again.")),
              "stopped while it loads weights (run.time_limit is reached). Again.");
}

TEST(WorkStop, IsNoError) {
    try {
        try {
            throw Stopped{"stopped"};
        } catch (const Error&) {
            FAIL() << "handlers of errors must not hide a stop";
        }
    } catch (...) {
        const auto failure = current_failure();
        EXPECT_EQ(failure.exit_code, exit_code_run_again);
        EXPECT_EQ(message_of(failure), "ziggurat: note: stopped");
    }
}

}  // namespace
}  // namespace ziggurat::train
