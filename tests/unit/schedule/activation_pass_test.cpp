#include "schedule/activation_pass.hpp"

#include <gtest/gtest.h>

#include <map>

#include "schedule/build_program.hpp"
#include "schedule/check.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

spec::RunSpec recomputing(std::int64_t microbatches, const spec::Home& activations) {
    auto spec = test::small_spec();
    spec.model.layers = 4;
    spec.train.micro_batches = microbatches;
    spec.recompute.kind = spec::RecomputeKind::full;
    spec.overlap.prefetch = 1;
    spec.tiers.activations = activations;
    return spec;
}

/// Bytes by the lane's engine that moves them.
std::map<Engine, std::int64_t> moved(const Program& program) {
    std::map<Engine, std::int64_t> sum;
    for (const auto& op : program.ops) {
        if (op.purpose == Purpose::state) {
            sum[program.lanes[static_cast<std::size_t>(op.lane)].engine] += op.writes.front().bytes();
        }
    }
    return sum;
}

/// Bytes that one micro-batch keeps for backward.
std::int64_t kept_bytes(const spec::RunSpec& spec) {
    auto at_home = spec;
    at_home.tiers.activations = {};
    at_home.train.micro_batches = 1;
    const auto program = build_program(at_home, 0, Variant::train);
    std::int64_t sum = 0;
    for (const auto& buffer : program.buffers) {
        sum += buffer.consumer == consumer::activations && buffer.offset >= 0 ? buffer.bytes : 0;
    }
    return sum;
}

TEST(ActivationPass, SendsAllThatIsKeptOutAndBackOverEachLink) {
    for (const std::int64_t microbatches : {1, 3}) {
        const auto spec = recomputing(microbatches, {0, 0, 1});
        const auto bytes = microbatches * kept_bytes(spec);
        ASSERT_GT(bytes, 0);

        auto sum = moved(build_program(spec, 0, Variant::train));

        for (const auto engine :
             {Engine::device_to_host, Engine::nvme_write, Engine::nvme_read, Engine::host_to_device}) {
            EXPECT_EQ(sum[engine], bytes) << to_string(engine);
        }
    }
}

TEST(ActivationPass, LeavesTheDeviceSmallerThanItWas) {
    const auto home = build_program(recomputing(1, {}), 0, Variant::train);
    const auto away = build_program(recomputing(1, {0, 1, 0}), 0, Variant::train);

    EXPECT_LT(away.tier_bytes(spec::Tier::device), home.tier_bytes(spec::Tier::device));
    EXPECT_EQ(away.tier_bytes(spec::Tier::host), kept_bytes(recomputing(1, {})));
    EXPECT_TRUE(check_program(away).empty());
}

TEST(ActivationPass, KeepsTheShareOfTheDeviceThere) {
    const auto all = kept_bytes(recomputing(1, {}));
    auto sum = moved(build_program(recomputing(1, {0.5, 0.5, 0}), 0, Variant::train));

    EXPECT_GT(sum[Engine::device_to_host], 0);
    EXPECT_LT(sum[Engine::device_to_host], all);
}

TEST(ActivationPass, DoesNothingWithoutBackward) {
    EXPECT_TRUE(moved(build_program(recomputing(1, {0, 1, 0}), 0, Variant::evaluate)).empty());
}

}  // namespace
}  // namespace ziggurat::schedule
