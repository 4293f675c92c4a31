#include "schedule/passes/activation_pass.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/pages.hpp"
#include "schedule/build_program.hpp"
#include "schedule/verify/check_program.hpp"
#include "tests/unit/schedule/program_text.hpp"
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

/// Returns the bytes moved by each lane's engine.
std::map<Engine, std::int64_t> moved(const Program& program) {
    std::map<Engine, std::int64_t> sum;
    for (const auto& op : program.ops) {
        if (op.purpose == Purpose::state) {
            sum[program.lanes[static_cast<std::size_t>(op.lane)].engine] += op.writes.front().bytes();
        }
    }
    return sum;
}

/// Returns the offloaded bytes of one micro-batch: the input of each layer, in fp32. The head's input
/// stays.
std::int64_t leaving_bytes(const spec::RunSpec& spec) {
    return spec.model.layers * spec.train.micro_batch * spec.data.seq * spec.model.hidden * 4;
}

TEST(ActivationPass, SendsWhatLayersBeginWithOutAndBackOverEachLink) {
    for (const std::int64_t microbatches : {1, 3}) {
        const auto spec = recomputing(microbatches, {0, 0, 1});
        const auto bytes = microbatches * leaving_bytes(spec);
        ASSERT_GT(bytes, 0);

        auto sum = moved(build_program(spec, 0, Variant::train));

        for (const auto engine :
             {Engine::device_to_host, Engine::nvme_write, Engine::nvme_read, Engine::host_to_device}) {
            EXPECT_EQ(sum[engine], bytes) << to_string(engine);
        }
    }
}

// With many micro-batches, each value between layers waits at home, so they take no memory of the device.
TEST(ActivationPass, ByLayerHoldsNoMoreOnTheDeviceWithMoreMicroBatches) {
    for (const spec::Home& home : {spec::Home{0, 1, 0}, spec::Home{0, 0, 1}}) {
        const auto bytes = [&](std::int64_t microbatches) {
            auto spec = recomputing(microbatches, home);
            spec.train.accumulate = spec::AccumulationOrder::by_layer;
            const auto program = build_program(spec, 0, Variant::train);
            EXPECT_TRUE(check_program(program).empty());
            return program.tier_bytes(spec::Tier::device);
        };
        const auto tokens = recomputing(1, home).train.micro_batch * recomputing(1, home).data.seq;

        // The tokens, targets and positions of each micro-batch are on the device.
        EXPECT_LE(bytes(24) - bytes(12), 12 * tokens * 64);
    }
}

TEST(ActivationPass, ByLayerFetchesTheInputOfALayerForForwardAndForBackward) {
    auto spec = recomputing(12, {0, 0, 1});
    spec.train.accumulate = spec::AccumulationOrder::by_layer;
    const auto program = build_program(spec, 0, Variant::train);
    std::map<std::string, int> written, read;
    for (const auto& op : program.ops) {
        if (op.microbatch != 3 || op.purpose != Purpose::state || op.reads.empty()) {
            continue;
        }
        const auto& name = program.buffers[op.reads.front().buffer].name;
        const auto& to = program.buffers[op.writes.front().buffer].name;
        if (op.kind == OpKind::write) {
            ++written[to];
        } else if (op.kind == OpKind::read) {
            ++read[name];
        }
    }
    EXPECT_EQ(written["layers.1.residual.out away"], 1);
    EXPECT_EQ(read["layers.1.residual.out away"], 2);
    EXPECT_EQ(read["layers.3.residual.out away"], 1) << "the head runs forward and backward together";
}

TEST(ActivationPass, LeavesTheDeviceSmallerThanItWas) {
    const auto home = build_program(recomputing(1, {}), 0, Variant::train);
    const auto away = build_program(recomputing(1, {0, 1, 0}), 0, Variant::train);

    EXPECT_LT(away.tier_bytes(spec::Tier::device), home.tier_bytes(spec::Tier::device));
    std::int64_t of_trainer = 0;
    for (const auto& buffer : away.buffers) {
        const bool is_fixed = buffer.tier == spec::Tier::host && buffer.lifetime != Lifetime::transient;
        of_trainer = is_fixed ? std::max(of_trainer, buffer.offset + buffer.bytes) : of_trainer;
    }
    EXPECT_EQ(away.tier_bytes(spec::Tier::host),
              round_up_to_page(of_trainer) + leaving_bytes(recomputing(1, {})));
    EXPECT_TRUE(check_program(away).empty());
}

// Between the head's forward and its backward, there is no time to offload and fetch an activation.
TEST(ActivationPass, KeepsWhatTheHeadWantsAtOnce) {
    const auto program = build_program(recomputing(1, {0, 1, 0}), 0, Variant::train);

    EXPECT_GE(test::index_of(program, "layers.2.residual.out away"), 0);
    EXPECT_EQ(test::index_of(program, "layers.3.residual.out away"), -1);
    EXPECT_EQ(test::index_of(program, "head.final_norm.out away"), -1);
}

// Its memory is reused only after the next layer has run, so that the next layer does not wait for the link.
TEST(ActivationPass, ListsWhatLeavesOnePassLater) {
    const auto program = build_program(recomputing(1, {0, 1, 0}), 0, Variant::train);

    const int away = test::index_of(program, "layers.0.residual.out away");
    EXPECT_GT(away, test::index_of(program, "layers.1.mlp_out forward 0"));
    EXPECT_LT(away, test::index_of(program, "layers.2.qkv forward 0"));
}

// Otherwise it would go to memory that still holds an activation to be fetched.
TEST(ActivationPass, ListsWhatLeavesBeforeWhatComesBack) {
    auto spec = recomputing(1, {0, 1, 0});
    spec.overlap.prefetch = 2;
    const auto program = build_program(spec, 0, Variant::train);

    EXPECT_LT(test::index_of(program, "layers.2.residual.out away"),
              test::index_of(program, "layers.1.residual.out back"));
}

TEST(ActivationPass, KeepsTheShareOfTheDeviceThere) {
    const auto all = leaving_bytes(recomputing(1, {}));
    auto sum = moved(build_program(recomputing(1, {0.5, 0.5, 0}), 0, Variant::train));

    EXPECT_GT(sum[Engine::device_to_host], 0);
    EXPECT_LT(sum[Engine::device_to_host], all);
}

/// Returns a run that saves all activations, with fates.
spec::RunSpec with_fates(const spec::Home& activations, std::vector<spec::FateRule> fates) {
    auto spec = recomputing(1, activations);
    spec.recompute = {};
    spec.recompute.fates = std::move(fates);
    return spec;
}

TEST(ActivationPass, SwapsOnlyActivationsWithThatFate) {
    const auto run = with_fates({}, {{"attended", spec::ActivationFate::host}});
    const auto bytes = leaving_bytes(run);
    const auto program = build_program(run, 0, Variant::train);
    auto sum = moved(program);

    EXPECT_EQ(sum[Engine::device_to_host], bytes);
    EXPECT_EQ(sum[Engine::host_to_device], bytes);
    EXPECT_GE(test::index_of(program, "layers.3.attended away"), 0);
    EXPECT_TRUE(check_program(program).empty());

    auto to_disk = moved(build_program(with_fates({}, {{"layers.?.attended", spec::ActivationFate::nvme}}), 0,
                                       Variant::train));
    EXPECT_EQ(to_disk[Engine::nvme_write], bytes);
    EXPECT_EQ(to_disk[Engine::nvme_read], bytes);
}

TEST(ActivationPass, DividesSharesAmongActivationsWithoutAFate) {
    const auto all = moved(build_program(with_fates({0, 1, 0}, {}), 0, Variant::train));
    auto without = moved(
        build_program(with_fates({0, 1, 0}, {{"attended", spec::ActivationFate::keep}}), 0, Variant::train));

    EXPECT_EQ(without[Engine::device_to_host],
              all.at(Engine::device_to_host) - leaving_bytes(recomputing(1, {})));
}

TEST(ActivationPass, SwapsWhatRecomputationNeeds) {
    const auto program = build_program(with_fates({}, {{"mlp_norm.out", spec::ActivationFate::host},
                                                       {"mlp.*", spec::ActivationFate::recompute}}),
                                       0, Variant::train);

    EXPECT_LT(test::index_of(program, "layers.1.mlp_norm.out back"),
              test::index_of(program, "layers.1.mlp_in forward 0 again"));
    EXPECT_TRUE(check_program(program).empty());
}

TEST(ActivationPass, DoesNothingWithoutBackward) {
    EXPECT_TRUE(moved(build_program(recomputing(1, {0, 1, 0}), 0, Variant::evaluate)).empty());
}

}  // namespace
}  // namespace ziggurat::schedule
