#include "plan/layouts/memory_bounds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "plan/layouts/layout_choice.hpp"
#include "plan/plan_run.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

/// A run on eight ranks whose activations and state are both large.
spec::RunSpec run_on_eight_ranks(const char* family) {
    auto spec = test::small_spec(family, 8);
    spec.model.layers = 6;
    spec.model.hidden = 64;
    spec.model.head_dim = 16;
    spec.model.ffn_hidden = 192;
    spec.precision.compute = spec::DType::bf16;
    spec.parallel.ranks_per_node = 4;
    spec.train.global_batch = 16;
    spec.train.micro_batch = 1;
    spec.train.micro_batches = 2;
    return spec;
}

std::int64_t planned_bytes(const spec::RunSpec& run) {
    std::int64_t bytes = 0;
    for (const int stage : {0, run.parallel.stages - 1}) {
        bytes = std::max(bytes, plan_run(run, {}, PlannedRanks::first, {}, stage).footprint.needed[0]);
    }
    return bytes;
}

TEST(MemoryBounds, AreBelowThePlanOfLayoutsAndClose) {
    for (const char* family : {"gpt2", "llama"}) {
        const auto spec = run_on_eight_ranks(family);
        MemoryBounds bounds;
        std::vector<double> ratios;
        const auto all = all_layouts(spec);
        for (std::size_t i = 0; i < all.size(); i += 5) {  // meets all ZeRO stages and recomputations
            const auto& choice = all[i];
            const auto run = with_layout(spec, choice);
            const auto planned = planned_bytes(run);
            const auto bound = bounds.device_bytes(run);
            EXPECT_LE(bound, planned) << family << ", " << described(choice);
            ratios.push_back(static_cast<double>(bound) / static_cast<double>(planned));
        }
        ASSERT_GT(ratios.size(), 60U);
        const auto middle = ratios.begin() + std::ssize(ratios) / 2;
        std::ranges::nth_element(ratios, middle);
        EXPECT_GT(*middle, 0.9) << family;
        EXPECT_GT(std::ranges::min(ratios), 0.7) << family;
    }
}

TEST(MemoryBounds, HoldForSettingsThatASearchKeeps) {
    std::vector<spec::RunSpec> runs;
    const auto add = [&](int stages, int chunks, int data, const auto& change) {
        auto run = with_layout(run_on_eight_ranks("llama"), {.tensor = 8 / stages / data,
                                                             .stages = stages,
                                                             .chunks = chunks,
                                                             .data = data,
                                                             .spans = {1, 1, data},
                                                             .micro_batch = 2});
        change(run);
        runs.push_back(run);
    };
    add(4, 1, 2, [](auto& run) { run.parallel.pipeline_schedule = spec::PipelineSchedule::gpipe; });
    add(4, 1, 2, [](auto& run) { run.parallel.pipeline_schedule = spec::PipelineSchedule::zero_bubble; });
    add(2, 2, 2, [](auto& run) { run.parallel.stage_layers = {3, 1, 1, 1}; });
    add(4, 1, 2, [](auto& run) { run.parallel.stage_layers = {1, 1, 1, 3}; });
    add(1, 1, 4, [](auto& run) {
        run.recompute.kind = spec::RecomputeKind::full;
        run.recompute.every = 4;
    });
    add(1, 1, 4, [](auto& run) { run.tiers.optimizer = {0, 1, 0}; });
    add(2, 1, 4, [](auto& run) {
        run.tiers.optimizer = {0.25, 0.75, 0};
        run.tiers.gradients = {0, 1, 0};
        run.sharding.reduce = spec::ReducePlan::each_microbatch;
    });
    add(1, 1, 4, [](auto& run) { run.tiers.activations = {0.3, 0.7, 0}; });
    add(1, 1, 8, [](auto& run) {
        run.sharding = {.parameters = 2,
                        .gradients = 4,
                        .optimizer = 8,
                        .reduce = spec::ReducePlan::by_span,
                        .sum_group = 8,
                        .is_by_span = true};
    });
    add(1, 1, 8, [](auto& run) {
        run.sharding.parameters = run.sharding.gradients = 8;
        run.sharding.reduce = spec::ReducePlan::each_microbatch;
        run.sharding.leases = spec::LeaseSpan::step;
    });
    for (const auto kind : {spec::RecomputeKind::none, spec::RecomputeKind::full}) {
        add(1, 1, 4, [&](auto& run) {
            run.recompute.kind = kind;
            run.train.accumulate = spec::AccumulationOrder::by_layer;
        });
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const auto planned = planned_bytes(runs[i]);
        const auto bound = MemoryBounds{}.device_bytes(runs[i]);
        EXPECT_LE(bound, planned) << i;
        EXPECT_GT(bound, planned / 3) << i;
    }
}

TEST(MemoryBounds, HoldForSpansOfANodeWithContext) {
    auto spec = run_on_eight_ranks("llama");
    spec.parallel.ranks = spec.parallel.data = 6;
    spec.parallel.ranks_per_node = 3;
    spec.parallel.context = 2;
    spec.train.global_batch = 6;
    MemoryBounds bounds;
    for (const spec::StateSpans& spans : {spec::StateSpans{1, 1, 3}, {1, 3, 6}, {3, 3, 3}}) {
        const auto run = with_layout(spec, {.context = 2, .data = 6, .spans = spans, .micro_batch = 1});
        EXPECT_LE(bounds.device_bytes(run), planned_bytes(run)) << spans.parameters << spans.gradients;
    }
}

}  // namespace
}  // namespace ziggurat::plan
