/// Sequence parallelism against one rank (class B); activations sharded over tensor ranks (class A).
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/all_cases.hpp"
#include "tests/support/class_b.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using spec::RecomputeKind;
using test::Keep;
using test::TinyOutcome;

/// Degrees of the axes.
struct Layout {
    int tensor = 1;
    int stages = 1;
    int data = 1;

    int ranks() const { return tensor * stages * data; }
    std::string text() const {
        return "tensor " + std::to_string(tensor) + ", stages " + std::to_string(stages) + ", data " +
               std::to_string(data);
    }
};

/// Returns a run with sequences of 12 in micro-batches of 2 and 4: slices of a third start inside a
/// sequence.
spec::RunSpec run_of(const std::string& family,
                     const Layout& layout,
                     std::int64_t micro,
                     std::int64_t steps) {
    constexpr std::int64_t samples = 8;
    auto run = test::tiny_run(family, layout.data, micro, samples / micro / layout.data);
    run.model.layers = 3;
    run.model.kv_heads = 6;
    run.model.ffn_hidden = 54;
    run.data.seq = 12;
    run.parallel.tensor = layout.tensor;
    run.parallel.stages = layout.stages;
    run.parallel.ranks = run.parallel.ranks_per_node = layout.ranks();
    run.train.steps = steps;
    return run;
}

TinyOutcome train(const spec::RunSpec& run, const comm::Context& group) {
    return test::train_tiny(run, group, Keep::tensors);
}

std::vector<std::string> families() {
    return {"gpt2", "llama", "gpt_neox", "qwen3", "granite", "gemma2", "gemma3", "olmo2"};
}

/// True if the family trains with a combination of choices, whose indices have that sum.
///
/// Families take turns: each has all pairs of choices, and each combination has every other family.
bool is_turn_of(const std::string& family, int choices) {
    const auto all = families();
    const auto number = std::ranges::find(all, family) - all.begin();
    return test::tries_all_cases() || (number + choices) % 2 == 0;
}

class AxesSequence : public ::testing::TestWithParam<std::string> {};

TEST_P(AxesSequence, TrainsAsOneRankDoes) {
    const int ranks = test::world().size();
    const comm::Communicator myself = test::world().group().split(test::world().rank());
    const auto alone = train(run_of(GetParam(), {}, 4, 8), test::world().in(myself));

    for (const auto& layout : {Layout{.tensor = 2}, Layout{.tensor = 3}, Layout{.tensor = 2, .data = 2},
                               Layout{.tensor = 2, .stages = 2}, Layout{.tensor = 6},
                               Layout{.tensor = 3, .data = 2}, Layout{.tensor = 3, .stages = 2}}) {
        if (layout.ranks() != ranks) {
            continue;
        }
        SCOPED_TRACE(layout.text());
        auto run = run_of(GetParam(), layout, 2, 8);
        run.parallel.sequence = true;
        run.sharding.optimizer = layout.data;
        test::expect_class_b(train(run, test::world()), alone);
    }
}

TEST_P(AxesSequence, LeavesTheSameBitsWhateverIsComputedAgain) {
    const int ranks = test::world().size();
    if (ranks > 3) {
        return;
    }
    const auto outcome = [&](bool sequence, RecomputeKind kind, bool split, const spec::Home& home) {
        auto run = run_of(GetParam(), {.tensor = ranks}, 2, 3);
        run.parallel.sequence = sequence;
        run.recompute.kind = kind;
        run.recompute.split = split;
        run.tiers.activations = home;
        run.overlap.prefetch = 1;
        return train(run, test::world());
    };
    const spec::Home device, host{0, 1, 0};
    for (const bool sequence : {false, true}) {
        const auto kept = outcome(sequence, RecomputeKind::none, false, device);
        for (const auto kind : {RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full}) {
            for (const bool split : {false, true}) {
                if (split && sequence) {
                    continue;
                }
                for (const auto& home : {device, host}) {
                    const int choices = static_cast<int>(kind) + static_cast<int>(split) +
                                        static_cast<int>(sequence) + static_cast<int>(home.host > 0);
                    if (!is_turn_of(GetParam(), choices)) {
                        continue;
                    }
                    SCOPED_TRACE(std::string{sequence ? "sequence" : "no sequence"} + ", kind " +
                                 std::to_string(static_cast<int>(kind)) + (split ? ", split" : "") +
                                 (home.host > 0 ? ", host" : ""));
                    const auto again = outcome(sequence, kind, split, home);
                    EXPECT_EQ(again.losses, kept.losses);
                    EXPECT_EQ(again.weights, kept.weights);
                }
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Families, AxesSequence, ::testing::ValuesIn(families()), [](const auto& made) {
    return made.param;
});

}  // namespace
}  // namespace ziggurat::train
