#include "train/account/step_fields.hpp"

#include <gtest/gtest.h>

#include "schedule/build_program.hpp"
#include "schedule/model_layout.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::train {
namespace {

schedule::Program program_of(const spec::RunSpec& spec) {
    return schedule::build_placed(spec, schedule::ModelLayout{spec, 0}, schedule::Variant::train);
}

spec::RunSpec all_on_the_device() {
    auto spec = test::small_spec();
    spec.checkpoint.every.reset();
    return spec;
}

TEST(StepFields, CountNoHostTierOfControlValuesAlone) {
    const auto program = program_of(all_on_the_device());
    ASSERT_GT(program.arena_bytes[static_cast<int>(spec::Tier::host)], 0) << "no control values";
    EXPECT_FALSE(holds_more_than_control(program));
}

TEST(StepFields, CountAHostTierOfStateOrCopies) {
    auto spec = all_on_the_device();
    spec.tiers.optimizer = {.device = 0, .host = 1};
    EXPECT_TRUE(holds_more_than_control(program_of(spec)));
}

}  // namespace
}  // namespace ziggurat::train
