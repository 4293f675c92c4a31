#include "comm/node/yield_core.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>

namespace ziggurat::comm {
namespace {

constexpr std::int64_t us = 1'000;
constexpr std::int64_t ms = 1'000'000;

TEST(YieldBackoff, NeverFollowShortYields) {
    YieldBackoff pauses;
    for (std::int64_t now = 5; now < 10 * ms; now += 20 * us) {
        ASSERT_TRUE(pauses.may_yield(now));
        ASSERT_TRUE(pauses.note_yield(now, now + 15 * us));
    }
}

TEST(YieldBackoff, DoubleWhileAStrangerTakesTheCoreUpToAnEnd) {
    YieldBackoff pauses;
    std::int64_t now = 7 * ms;
    for (const std::int64_t pause : {1, 2, 4, 8, 16, 32, 64, 128, 128}) {
        ASSERT_TRUE(pauses.may_yield(now));
        EXPECT_FALSE(pauses.note_yield(now, now + 3 * ms));
        now += 3 * ms;
        EXPECT_FALSE(pauses.may_yield(now)) << pause;
        EXPECT_FALSE(pauses.may_yield(now + pause * ms - 1)) << pause;
        now += pause * ms;
    }
}

TEST(YieldBackoff, AreForgottenWithTheStranger) {
    YieldBackoff pauses;
    std::int64_t now = 0;
    for (int i = 0; i < 8; ++i) {
        pauses.note_yield(now, now + 3 * ms);
        now += 200 * ms;
    }
    for (int i = 0; i < 40; ++i) {
        ASSERT_TRUE(pauses.may_yield(now));
        pauses.note_yield(now, now + us);
        now += us;
    }
    pauses.note_yield(now, now + 3 * ms);
    EXPECT_FALSE(pauses.may_yield(now + 3 * ms));
    EXPECT_TRUE(pauses.may_yield(now + 4 * ms)) << "the first pause again";
}

/// Open MPI's libraries also resolve this name to it.
TEST(GiveWay, IsTheYieldOfTheWholeProcess) {
    void* const found = dlsym(RTLD_DEFAULT, "sched_yield");
    static const int of_this_program = 0;
    Dl_info theirs{}, own{};
    ASSERT_NE(dladdr(found, &theirs), 0);
    ASSERT_NE(dladdr(&of_this_program, &own), 0);
    EXPECT_EQ(theirs.dli_fbase, own.dli_fbase) << theirs.dli_fname;
    EXPECT_EQ(reinterpret_cast<int (*)()>(found)(), 0);
}

}  // namespace
}  // namespace ziggurat::comm
