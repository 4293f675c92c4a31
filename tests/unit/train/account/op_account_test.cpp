#include "train/account/op_account.hpp"

#include <gtest/gtest.h>

#include "schedule/build_program.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::train {
namespace {

/// Stalls of the training of `spec` on one of its ranks.
struct Stalls {
    explicit Stalls(const spec::RunSpec& spec)
        : model{spec, 0},
          program{schedule::build_program(spec, model, schedule::Variant::train)},
          times{times_of_one(program)},
          ops{program, model.table, times, account} {}

    schedule::ModelLayout model;
    schedule::Program program;
    NodeTimes times;
    TimeAccounting account = TimeAccounting{};
    OpAccount ops;
};

// Control values move between the tiers in every run. A run whose state stays on the device does not report
// stalls on links.
TEST(OpAccount, TellsWaitsForControlValuesWithThoseForTheStepsEnd) {
    const Stalls alone{test::small_spec("llama")};
    for (const auto stall : {Stall::host_to_device, Stall::device_to_host}) {
        EXPECT_FALSE(alone.ops.can_stall(stall, 1));
    }
    EXPECT_FALSE(alone.ops.can_stall(Stall::collective, 1));

    const Stalls two{test::small_spec("llama", 2)};
    EXPECT_TRUE(two.ops.can_stall(Stall::collective, 2));
    EXPECT_FALSE(two.ops.can_stall(Stall::host_to_device, 2));

    auto offloaded = test::small_spec("llama");
    offloaded.tiers.parameters = {0, 1, 0};
    const Stalls state{offloaded};
    EXPECT_TRUE(state.ops.can_stall(Stall::host_to_device, 1));
}

}  // namespace
}  // namespace ziggurat::train
