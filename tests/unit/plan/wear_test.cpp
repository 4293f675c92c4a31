#include "plan/report/wear.hpp"

#include <gtest/gtest.h>

#include "schedule/build_program.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

spec::RunSpec on_nvme() {
    auto spec = test::small_spec("llama", 2);
    spec.sharding = {2, 2, 2, 0, spec::ReducePlan::each_microbatch, 2};
    spec.tiers.optimizer = spec.tiers.gradients = spec::Home{0, 0, 1};
    spec.tiers.nvme_paths = {"/a", "/b"};
    return spec;
}

TEST(Wear, IsWhatTheProgramWritesInThePlannedTime) {
    const auto spec = on_nvme();
    const auto program = schedule::build_program(spec, 0, schedule::Variant::train);
    const auto written = static_cast<double>(
        schedule::bytes_by_link(program)[static_cast<std::size_t>(schedule::Link::nvme_write)]);

    const auto unknown = wear(spec, {}, program, 1);
    EXPECT_DOUBLE_EQ(unknown.bytes_per_step, written) << "two ranks write to two paths";
    EXPECT_EQ(unknown.max_bytes_per_day(), 0);
    const auto known = wear(spec, {.nvme_write_rate = written}, program, 1);
    EXPECT_DOUBLE_EQ(known.min_step_seconds, 2);
    EXPECT_DOUBLE_EQ(known.max_bytes_per_day(), 43200 * written);
}

TEST(Wear, DoesNotDependOnHowManyMicroBatchesAreCompiled) {
    auto spec = on_nvme();
    spec.train.micro_batches = 6;
    const auto whole = wear(spec, {}, schedule::build_program(spec, 0, schedule::Variant::train), 1);
    auto shorter = spec;
    shorter.train.micro_batches = 2;
    const auto part = wear(spec, {}, schedule::build_program(shorter, 0, schedule::Variant::train), 1);

    EXPECT_DOUBLE_EQ(part.bytes_per_step, whole.bytes_per_step);
}

TEST(Wear, DoesNotDependOnHowManyLayersAreCompiled) {
    auto spec = on_nvme();
    spec.model.layers = 12;
    const auto whole = wear(spec, {}, schedule::build_program(spec, 0, schedule::Variant::train), 12);
    auto shorter = spec;
    shorter.model.layers = 4;
    const auto part = wear(spec, {}, schedule::build_program(shorter, 0, schedule::Variant::train), 4);

    EXPECT_NEAR(part.bytes_per_step / whole.bytes_per_step, 1, 0.02);
}

TEST(Wear, TellsHowLongADiskStandsIt) {
    auto spec = on_nvme();
    const auto program = schedule::build_program(spec, 0, schedule::Variant::train);
    spec.tiers.endurance_bytes = std::int64_t{1} << 40;

    const auto line = wear_line(spec, {.nvme_write_rate = 1e9}, program, 1);

    EXPECT_EQ(line.find("WEAR  a step writes "), 0U) << line;
    EXPECT_NE(line.find("; tiers.nvme.endurance of 1.00 TiB lasts "), std::string::npos) << line;
    EXPECT_NE(line.find(" days\n"), std::string::npos) << line;
    spec.tiers.optimizer = spec.tiers.gradients = spec::Home{};
    EXPECT_EQ(wear_line(spec, {}, schedule::build_program(spec, 0, schedule::Variant::train), 1), "");
}

}  // namespace
}  // namespace ziggurat::plan
