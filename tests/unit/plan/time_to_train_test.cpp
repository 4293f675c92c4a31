#include "plan/time_to_train.hpp"

#include <gtest/gtest.h>

#include "plan/checkpoint_size.hpp"
#include "plan/simulator/step_time.hpp"
#include "schedule/build_program.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

spec::MachineSpec machine_with_rates() {
    spec::MachineSpec machine;
    machine.device_flops = 1e9;
    return machine;
}

TEST(TimeToTrain, IsThatOfTheProgram) {
    const auto spec = test::small_spec("llama", 2);
    const auto machine = machine_with_rates();

    const auto seconds = planned_step_seconds(spec, machine);

    ASSERT_TRUE(seconds.has_value());
    const auto program = schedule::build_program(spec, 0, schedule::Variant::train);
    EXPECT_DOUBLE_EQ(*seconds,
                     step_seconds(program, spec, schedule::ModelLayout{spec, 0}, rates_of(spec, machine)));
}

TEST(TimeToTrain, GoesOnForWhatIsNotPlanned) {
    auto spec = test::small_spec("llama", 1);
    spec.model.layers = 30;
    spec.train.micro_batches = 20;
    spec.train.global_batch = 40;
    const auto machine = machine_with_rates();

    const auto seconds = planned_step_seconds(spec, machine);

    ASSERT_TRUE(seconds.has_value());
    const auto whole = step_seconds(schedule::build_program(spec, 0, schedule::Variant::train), spec,
                                    schedule::ModelLayout{spec, 0}, rates_of(spec, machine));
    EXPECT_NEAR(*seconds, whole, 0.01 * whole);
}

TEST(TimeToTrain, IsUnknownWithoutRates) {
    auto spec = test::small_spec();
    auto machine = machine_with_rates();
    EXPECT_FALSE(planned_step_seconds(spec, {}).has_value());
    EXPECT_EQ(missing_rates(spec, {}), "device_flops");

    spec.tiers.optimizer = {0, 0, 1};
    EXPECT_FALSE(planned_step_seconds(spec, machine).has_value()) << "disks of unknown speed";
    machine.nvme_read_rate = machine.nvme_write_rate = 1e9;
    EXPECT_TRUE(planned_step_seconds(spec, machine).has_value());
}

TEST(CheckpointSize, CountsWhatStays) {
    auto spec = test::small_spec();
    spec.train.steps = 100;
    spec.checkpoint.keep_last = 2;
    spec.checkpoint.every = spec::Interval{.steps = 10};
    const auto one = checkpoint_size(spec);
    EXPECT_EQ(one.kept, 2);
    EXPECT_EQ(one.bytes_kept, 2 * one.bytes);
    EXPECT_EQ(one.bytes_at_most, 3 * one.bytes);

    spec.checkpoint.keep_every_steps = 30;
    EXPECT_EQ(checkpoint_size(spec).kept, 5);
    spec.checkpoint.every = spec::Interval{.steps = 20};
    EXPECT_EQ(checkpoint_size(spec).kept, 3) << "of the milestones, step 60 is saved";
    spec.checkpoint.every = spec::Interval{.steps = 60};
    EXPECT_EQ(checkpoint_size(spec).kept, 2) << "step 60 and the end";
    spec.checkpoint.every = spec::Interval{.seconds = 60};
    EXPECT_EQ(checkpoint_size(spec).kept, 2) << "by time, milestones come by chance alone";
    spec.checkpoint.every = std::nullopt;
    EXPECT_EQ(checkpoint_size(spec).kept, 0);
    spec.checkpoint.every = spec::Interval{.steps = 10};
    spec.train.only = {"head.*"};
    EXPECT_LT(checkpoint_size(spec).bytes, one.bytes) << "what is frozen has no moments";
}

}  // namespace
}  // namespace ziggurat::plan
