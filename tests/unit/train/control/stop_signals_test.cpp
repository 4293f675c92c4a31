#include "train/control/stop_signals.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "base/error.hpp"

namespace ziggurat::train {
namespace {

TEST(StopSignals, RaiseTheLevelOneByOne) {
    StopSignals signals;
    EXPECT_EQ(signals.requested(), StopSignals::none);
    raise(SIGUSR1);
    EXPECT_EQ(signals.requested(), StopSignals::after_step);
    EXPECT_EQ(signals.signal(), SIGUSR1);
    raise(SIGTERM);
    EXPECT_EQ(signals.requested(), StopSignals::after_microbatch);
    EXPECT_EQ(signals.signal(), SIGTERM);
}

TEST(StopSignals, AHangUpAsksOnceHoweverOftenItComes) {
    StopSignals signals;
    for (int times = 0; times < 4; ++times) {
        raise(SIGHUP);
    }
    EXPECT_EQ(signals.requested(), StopSignals::after_step);
    EXPECT_EQ(signals.signal(), SIGHUP);
    raise(SIGINT);
    raise(SIGHUP);
    EXPECT_EQ(signals.requested(), StopSignals::after_microbatch);
    EXPECT_EQ(signals.signal(), SIGINT);
}

TEST(StopSignals, AHangUpThatWasIgnoredStaysSo) {
    signal(SIGHUP, SIG_IGN);
    {
        StopSignals signals;
        raise(SIGHUP);
        EXPECT_EQ(signals.requested(), StopSignals::none);
    }
    EXPECT_EQ(signal(SIGHUP, SIG_DFL), SIG_IGN);
}

TEST(StopSignals, EndTheProcessAtTheThird) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_EXIT(
        {
            const StopSignals signals;
            raise(SIGINT);
            raise(SIGUSR1);
            raise(SIGINT);
        },
        testing::ExitedWithCode(128 + SIGINT), "third stop request");
}

TEST(StopSignals, FollowWhatAllRanksAgreedOn) {
    StopSignals signals;
    signals.merge(StopSignals::after_microbatch);
    EXPECT_EQ(signals.requested(), StopSignals::after_microbatch);
    signals.merge(StopSignals::after_step);
    EXPECT_EQ(signals.requested(), StopSignals::after_microbatch) << "an agreement is never taken back";
    EXPECT_EQ(signals.signal(), 0);
}

TEST(StopSignals, Usr2AsksForACheckpointAndNothingElse) {
    StopSignals signals;
    EXPECT_FALSE(signals.take_checkpoint_request());
    raise(SIGUSR2);
    raise(SIGUSR2);
    EXPECT_EQ(signals.requested(), StopSignals::none);
    EXPECT_EQ(signals.signal(), 0);
    EXPECT_TRUE(signals.take_checkpoint_request());
    EXPECT_FALSE(signals.take_checkpoint_request()) << "one checkpoint is enough for two requests";
}

/// nohup, and a shell's `&` in a script, ignore these signals.
TEST(StopSignals, OfATerminalStayIgnoredWhereTheyWere) {
    for (const int number : {SIGINT, SIGHUP}) {
        const auto before = signal(number, SIG_IGN);
        {
            const StopSignals signals;
            raise(number);
            EXPECT_EQ(signals.requested(), StopSignals::none) << signal_name(number);
        }
        EXPECT_EQ(signal(number, before), SIG_IGN);
    }
}

TEST(StopSignals, RestoreWhatWasThereBefore) {
    struct sigaction before {};
    sigaction(SIGTERM, nullptr, &before);
    { const StopSignals signals; }
    struct sigaction after {};
    sigaction(SIGTERM, nullptr, &after);
    EXPECT_EQ(before.sa_handler, after.sa_handler);

    const StopSignals again;
    EXPECT_EQ(again.requested(), StopSignals::none) << "nothing is left of the one before";
    EXPECT_THROW(StopSignals{}, Error) << "there is one at a time";
}

TEST(StopSignals, KeepErrno) {
    const StopSignals signals;
    errno = ENOSPC;
    raise(SIGUSR1);
    EXPECT_EQ(errno, ENOSPC);
}

TEST(SignalName, HasAFallback) {
    EXPECT_EQ(signal_name(SIGTERM), "SIGTERM");
    EXPECT_EQ(signal_name(INT_MAX), "signal 2147483647");
}

}  // namespace
}  // namespace ziggurat::train
