#include "plan/search/choose_depths.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/text/units.hpp"
#include "plan/plan_run.hpp"
#include "plan/planned_time.hpp"
#include "schedule/build_program.hpp"
#include "schedule/passes/optimizer_pass.hpp"
#include "spec/stage_state.hpp"
#include "tests/unit/plan/small_machine.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

constexpr spec::AutoDepths both{.prefetch = true, .chunk = true};

/// Returns a run with all state on NVMe, sharded over two ranks.
spec::RunSpec away(std::int64_t layers = 8) {
    auto spec = test::small_spec("llama", 2);
    spec.model.layers = layers;
    spec.model.hidden = 128;
    spec.model.head_dim = 32;
    spec.model.ffn_hidden = 384;
    spec.train.micro_batches = 1;
    spec.sharding = {2, 2, 2, 0, spec::ReducePlan::each_microbatch, 2};
    spec.recompute.kind = spec::RecomputeKind::full;
    spec.precision.compute = spec::DType::bf16;
    spec.tiers.parameters = spec.tiers.gradients = spec.tiers.optimizer = spec::Home{0, 0, 1};
    spec.tiers.chunk_elements = 1 << 16;
    return spec;
}

/// Returns rates with `seconds` of compute per second of reading a unit.
Rates rates_with(double seconds) {
    const double layer_bytes = 2.0 * (2 * 128 * 128 * 3 / 2 + 3 * 128 * 384) / 2;
    const double layer_flops = layer_bytes * 2 * 32;  // forward, for 32 tokens
    const double flops = layer_flops / seconds;
    return {.products = {.forward = {.flops = flops}},
            .attention = {flops, flops},
            .memory = 1e12,
            .host_memory = 1e12,
            .nvme_read = layer_bytes,
            .nvme_write = layer_bytes,
            .host_to_device = 10 * layer_bytes,
            .device_to_host = 10 * layer_bytes,
            .control_to_device = 10 * layer_bytes,
            .control_to_host = 10 * layer_bytes,
            .has_device = true};
}

double seconds_at(spec::RunSpec spec, int depth, const Rates& rates) {
    spec.overlap.prefetch = depth;
    return step_seconds(schedule::build_program(spec, 0, schedule::Variant::train), spec,
                        schedule::ModelLayout{spec, 0}, rates);
}

TEST(ChooseDepths, TakesTheLeastAmongTheBest) {
    for (const double ratio : {0.01, 0.3, 1.0, 3.0, 100.0}) {
        const auto rates = rates_with(ratio);
        const auto found = choose_depths(away(), {}, {.prefetch = true}, rates);

        ASSERT_GE(found.prefetch, 1);
        ASSERT_LE(found.prefetch, deepest);
        double best = seconds_at(away(), 1, rates);
        for (int depth = 2; depth <= deepest; ++depth) {
            best = std::min(best, seconds_at(away(), depth, rates));
        }
        EXPECT_LE(seconds_at(away(), found.prefetch, rates), 1.0201 * best) << ratio;
        if (found.prefetch == 1) {
            EXPECT_GT(seconds_at(away(), 2, rates), 1.0199 * best) << ratio;
        } else if (found.prefetch > 2) {
            EXPECT_GT(seconds_at(away(), found.prefetch - 1, rates), 1.0199 * best) << ratio;
        }
        EXPECT_EQ(found.chunk_elements, 1 << 16) << "as given";
    }
}

/// Returns two stages; the first has all of its state on the device and never waits.
spec::RunSpec last_stage_away() {
    auto spec = away();
    spec.parallel.stages = 2;
    spec.parallel.ranks = 4;
    spec.parallel.stage_layers = {1, 7};
    spec.train.micro_batches = 2;
    spec.stages.assign(2, spec::general_state(spec));
    spec.stages[0].parameters = spec.stages[0].gradients = spec.stages[0].optimizer = {};
    return spec;
}

TEST(ChooseDepths, LooksAtEveryStage) {
    const auto spec = last_stage_away();
    const auto of_the_last = spec::with_state(spec, spec.stages[1]);
    bool needs_more_than_usual = false;
    for (const double ratio : {0.01, 0.3, 1.0, 3.0, 100.0}) {
        const auto rates = rates_with(ratio);
        std::array<double, deepest + 1> seconds{};
        for (int depth = 1; depth <= deepest; ++depth) {
            auto deep = of_the_last;
            deep.overlap.prefetch = depth;
            seconds[static_cast<std::size_t>(depth)] =
                step_seconds(schedule::build_program(deep, 2, schedule::Variant::train), deep,
                             schedule::ModelLayout{deep, 2}, rates);
        }
        const auto best = *std::min_element(seconds.begin() + 1, seconds.end());
        needs_more_than_usual = needs_more_than_usual || seconds[2] > 1.03 * best;

        const auto found = choose_depths(spec, {}, {.prefetch = true}, rates);

        EXPECT_LE(seconds[static_cast<std::size_t>(found.prefetch)], 1.0201 * best) << ratio;
    }
    EXPECT_TRUE(needs_more_than_usual) << "else a look at the first stage would do";
}

TEST(ChooseDepths, CountsTheElementsOfTheFullestStage) {
    const auto spec = last_stage_away();
    const schedule::ModelLayout model{spec, 2};
    const auto elements = schedule::optimizer_chunks(spec, model).elements();
    ASSERT_GT(elements, 2 * schedule::optimizer_chunks(spec, schedule::ModelLayout{spec, 0}).elements());

    const auto found = choose_depths(spec, {}, {.chunk = true}, rates_with(1));

    EXPECT_NE(found.chunk_reason.find(format_grouped(elements)), std::string::npos) << found.chunk_reason;
}

TEST(ChooseDepths, ReadsStatesDuringBackwardWhereTheDiskIsIdleThen) {
    constexpr spec::AutoDepths open{.optimizer_prefetch = true};
    auto spec = away();
    spec.overlap.prefetch = 1;
    spec.tiers.chunk_elements = 1 << 14;
    const auto seconds = [&](int depth, const Rates& rates) {
        auto with = spec;
        with.overlap.optimizer_prefetch = depth;
        return step_seconds(schedule::build_program(with, 0, schedule::Variant::train), with,
                            schedule::ModelLayout{with, 0}, rates);
    };
    const auto rates = rates_with(2);
    const auto found = choose_depths(spec, {}, open, rates);
    EXPECT_EQ(found.prefetch, 1) << "as given";
    EXPECT_GT(found.optimizer_prefetch, 2);
    EXPECT_LT(seconds(found.optimizer_prefetch, rates), seconds(2, rates) / 1.02);
    for (const int times : optimizer_depths) {
        EXPECT_LE(seconds(found.optimizer_prefetch, rates), 1.0201 * seconds(times, rates)) << times;
    }

    spec.overlap.optimizer_prefetch = 2;
    const auto needed = plan_run(spec).footprint.needed;
    spec.tiers.device_budget_bytes = needed[0];
    spec.tiers.host_budget_bytes = needed[1];
    const auto tight = choose_depths(spec, {}, open, rates);
    EXPECT_EQ(tight.optimizer_prefetch, 2);
    EXPECT_NE(tight.optimizer_prefetch_reason.find("the budgets hold 2"), std::string::npos)
        << tight.optimizer_prefetch_reason;

    spec.tiers.optimizer = spec::Home{0, 1, 0};
    EXPECT_EQ(choose_depths(spec, {}, open, rates).optimizer_prefetch, 2) << "nothing is read";
}

TEST(ChooseDepths, WeighsBothDepthsTogether) {
    auto spec = away();
    spec.tiers.chunk_elements = 1 << 14;
    int unlike = 0;
    for (const double ratio : {0.3, 0.7, 1.0, 1.5, 2.0, 3.0}) {
        const auto rates = rates_with(ratio);
        const auto seconds = [&](int prefetch, int optimizer_prefetch) {
            auto with = spec;
            with.overlap.optimizer_prefetch = optimizer_prefetch;
            return seconds_at(with, prefetch, rates);
        };
        std::vector<std::array<int, 2>> pairs;
        double best = 1e9;
        for (int prefetch = 1; prefetch <= deepest; ++prefetch) {
            for (const int times : optimizer_depths) {
                pairs.push_back({prefetch, times * prefetch});
                best = std::min(best, seconds(prefetch, times * prefetch));
            }
        }
        const auto found = choose_depths(spec, {}, {.prefetch = true, .optimizer_prefetch = true}, rates);
        const auto is_good = [&](const auto& pair) { return seconds(pair[0], pair[1]) <= 1.02 * best; };
        const auto usual =
            std::ranges::find_if(pairs, [&](const auto& pair) { return pair[0] > 1 && is_good(pair); });
        const auto first = usual != pairs.end() ? *usual : *std::ranges::find_if(pairs, is_good);
        EXPECT_EQ(found.prefetch, first[0]) << ratio;
        EXPECT_EQ(found.optimizer_prefetch, first[1]) << ratio;
        const auto alone = choose_depths(spec, {}, {.prefetch = true}, rates);
        unlike += alone.prefetch != found.prefetch ? 1 : 0;
    }
    EXPECT_GT(unlike, 0) << "prefetch alone would do";
}

TEST(ChooseDepths, TakesTheUsualDepthWhereComputingHidesEverything) {
    EXPECT_EQ(choose_depths(away(), {}, both, rates_with(1e4)).prefetch, 2);
}

TEST(ChooseDepths, TakesNoMoreThanBudgetsHold) {
    auto spec = away();
    spec.tiers.parameters = spec.tiers.gradients = spec.tiers.optimizer = spec::Home{0, 1, 0};
    auto rates = rates_with(1);
    rates.host_to_device = rates.device_to_host = rates.nvme_read;
    const auto free = choose_depths(spec, {}, {.prefetch = true}, rates).prefetch;
    ASSERT_GT(free, 1) << "else this says nothing";

    spec.overlap.prefetch = 1;
    const auto needed = plan_run(spec).footprint.needed;
    spec.tiers.device_budget_bytes = needed[0];
    spec.tiers.host_budget_bytes = needed[1];
    const auto found = choose_depths(spec, {}, {.prefetch = true}, rates);
    EXPECT_EQ(found.prefetch, 1);
    EXPECT_NE(found.prefetch_reason.find("the budgets hold 1"), std::string::npos) << found.prefetch_reason;
}

TEST(ChooseDepths, FetchesNothingAheadWhereTheBudgetsHoldNothingElse) {
    auto spec = away();
    spec.overlap.prefetch = 0;
    const auto needed = plan_run(spec).footprint.needed;
    spec.tiers.device_budget_bytes = needed[0];
    spec.tiers.host_budget_bytes = needed[1];
    const auto found = choose_depths(spec, {}, {.prefetch = true}, rates_with(1));
    EXPECT_EQ(found.prefetch, 0);
    EXPECT_NE(found.prefetch_reason.find("; the budgets hold 0"), std::string::npos) << found.prefetch_reason;

    spec.tiers.device_budget_bytes -= 1;
    const auto lacks = choose_depths(spec, {}, {.prefetch = true}, rates_with(1));
    EXPECT_EQ(lacks.prefetch, 0) << "lacks least, and that is told";
    EXPECT_NE(lacks.prefetch_reason.find("; the budgets hold none"), std::string::npos)
        << lacks.prefetch_reason;
    EXPECT_EQ(lacks.prefetch_reason.find("the budgets hold 1"), std::string::npos) << lacks.prefetch_reason;
}

TEST(ChooseDepths, SaysWhatItTakesUnknownDisksFor) {
    const auto is_printed = [](const spec::RunSpec& spec, const spec::MachineSpec& machine) {
        return choose_depths(spec, machine, both).prefetch_reason.find("'ziggurat bench io'") !=
               std::string::npos;
    };
    auto spec = away();
    EXPECT_TRUE(is_printed(spec, {}));
    spec::MachineSpec known;
    known.nvme_read_rate = 3e9;
    EXPECT_FALSE(is_printed(spec, known));
    spec.debug.throttle.nvme_read = 1e9;
    EXPECT_FALSE(is_printed(spec, {}));
    spec = away();
    spec.tiers.parameters = spec.tiers.gradients = spec.tiers.optimizer = spec.tiers.activations =
        spec::Home{0, 1, 0};
    EXPECT_FALSE(is_printed(spec, {}));
}

TEST(ChooseDepths, KnowsWhatDependsOnDisks) {
    auto spec = away();
    EXPECT_TRUE(depends_on_unknown_disks(spec, {}, {.prefetch = true}));
    EXPECT_FALSE(depends_on_unknown_disks(spec, {}, {.chunk = true}));
    spec.overlap.prefetch = 2;
    EXPECT_TRUE(depends_on_unknown_disks(spec, {}, {.optimizer_prefetch = true}));
    EXPECT_NE(
        choose_depths(spec, {}, {.optimizer_prefetch = true}).optimizer_prefetch_reason.find("node's disks"),
        std::string::npos);
    spec.overlap.prefetch = 0;
    EXPECT_FALSE(depends_on_unknown_disks(spec, {}, {.optimizer_prefetch = true})) << "nothing is read ahead";
    spec.overlap.prefetch = 2;
    spec.tiers.optimizer = spec::Home{0, 1, 0};
    EXPECT_FALSE(depends_on_unknown_disks(spec, {}, {.optimizer_prefetch = true})) << "no states on NVMe";
}

TEST(ChooseDepths, LeavesRunsOnTheDeviceAlone) {
    auto spec = away();
    spec.tiers.parameters = spec.tiers.gradients = spec.tiers.optimizer = spec::Home{};
    spec.tiers.chunk_elements = 4 << 20;
    const auto found = choose_depths(spec, {}, both, rates_with(1));
    EXPECT_EQ(found.prefetch, 1);
    EXPECT_EQ(found.optimizer_prefetch, spec.overlap.optimizer_prefetch) << "as given";
    EXPECT_EQ(found.chunk_elements, 4 << 20);
}

TEST(ChooseDepths, MakesChunksSmallerWhereBudgetsAreShort) {
    auto spec = away(16);
    const auto usual = choose_depths(spec, {}, both, rates_with(1)).chunk_elements;
    EXPECT_EQ(usual, 512 << 10);

    spec.tiers.chunk_elements = 128 << 10;
    const auto needed = plan_run(spec).footprint.needed;
    spec.tiers.device_budget_bytes = needed[0];
    spec.tiers.host_budget_bytes = needed[1];
    const auto found = choose_depths(spec, {}, both, rates_with(1));
    EXPECT_EQ(found.chunk_elements, 128 << 10);
    spec.tiers.chunk_elements = found.chunk_elements;
    EXPECT_TRUE(plan_run(spec).footprint.fits());
}

TEST(UsualChunk, IsAnEighthOfARanksBetweenItsBounds) {
    EXPECT_EQ(spec::usual_chunk(1), 512 << 10);
    EXPECT_EQ(spec::usual_chunk(std::int64_t{8} << 20), 1 << 20);
    EXPECT_EQ(spec::usual_chunk((std::int64_t{16} << 20) - 1), 1 << 20) << "eight and not seven";
    EXPECT_EQ(spec::usual_chunk(std::int64_t{1} << 40), 4 << 20);
}

TEST(ChooseDepths, TakesTheChunkWithTheShortestStepIfChunksMove) {
    const auto machine = test::small_machine();
    auto spec = away(4);
    spec.train.micro_batches = 2;
    spec.parallel.ranks = spec.parallel.data = 1;
    spec.sharding = {};
    spec.sharding.reduce = spec::ReducePlan::each_microbatch;
    spec.tiers.parameters = spec.tiers.gradients = spec::Home{0, 1, 0};
    spec.tiers.optimizer = spec::Home{0.5, 0.5, 0};
    spec.tiers.movement = spec::Movement::chunks;
    const auto chosen = choose_depths(spec, machine, {.chunk = true}).chunk_elements;
    double best = 0;
    for (std::int64_t chunk = 1 << 16; chunk <= 1 << 20; chunk *= 2) {
        auto tried = spec;
        tried.tiers.chunk_elements = chunk;
        const double seconds = planned_time(tried, machine).step_seconds;
        best = best == 0 ? seconds : std::min(best, seconds);
    }
    spec.tiers.chunk_elements = chosen;

    EXPECT_LE(planned_time(spec, machine).step_seconds, 1.03 * best);
    EXPECT_NE(chosen, spec::usual_chunk(1 << 20)) << "the usual size is not timed";
}

}  // namespace
}  // namespace ziggurat::plan
