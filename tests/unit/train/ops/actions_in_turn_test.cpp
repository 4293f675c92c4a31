#include "train/ops/actions_in_turn.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

namespace ziggurat::train {
namespace {

TEST(ActionsInTurn, RunTheActionOfTheStep) {
    std::string ran;
    std::vector<Action> actions;
    for (const char name : {'a', 'b', 'c'}) {
        actions.push_back({.run = [&ran, name] { ran += name; },
                           .is_enqueued = [&ran, name] { return ran.back() == name; },
                           .bytes_moved = [&ran, name] { return std::count(ran.begin(), ran.end(), name); }});
    }

    const auto action = in_turn(std::move(actions));
    for (std::int64_t step = 0; step < 5; ++step) {
        action.before_step(step);
        action.run();
        EXPECT_TRUE(action.is_enqueued());
    }

    EXPECT_EQ(ran, "abcab");
    EXPECT_EQ(action.bytes_moved(), 5);
    EXPECT_FALSE(action.is_asynchronous());
    EXPECT_FALSE(action.may_begin);
    EXPECT_FALSE(action.skipped_bytes);
}

TEST(ActionsInTurn, LeaveASingleActionAsItIs) {
    int runs = 0;
    const auto action = in_turn({Action{.run = [&runs] { ++runs; }}});

    action.run();

    EXPECT_EQ(runs, 1);
    EXPECT_FALSE(action.before_step);
}

}  // namespace
}  // namespace ziggurat::train
