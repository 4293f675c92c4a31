#include "base/ends_within.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <memory>

namespace ziggurat {
namespace {

using testing::Test;

TEST(EndsWithin, WaitsForWorkThatReturns) {
    const auto has_run = std::make_shared<std::atomic<bool>>(false);
    EXPECT_TRUE(ends_within(600, [has_run] { *has_run = true; }));
    EXPECT_TRUE(*has_run);
}

TEST(EndsWithin, LeavesWorkThatDoesNotReturn) {
    std::promise<void> release;
    std::promise<void> over;
    const auto released = release.get_future().share();
    const auto end = std::make_shared<std::promise<void>>(std::move(over));
    auto ended = end->get_future();
    EXPECT_FALSE(ends_within(0.01, [released, end] {
        released.wait();
        end->set_value();
    }));
    release.set_value();
    ended.wait();
}

}  // namespace
}  // namespace ziggurat
