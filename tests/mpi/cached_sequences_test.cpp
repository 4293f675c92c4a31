#include "train/generate/cached_sequences.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "layout/mesh.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/tiny_training.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {
namespace {

/// A run with generated samples, so that its assembly has passes with a KV cache.
spec::RunSpec run_of(const std::string& family, int ranks) {
    auto run = test::tiny_run(family, ranks, 2, 2);
    // More than a page, so that sequences have several, and windows reuse some. Prompts of 75 tokens take two
    // passes.
    run.data.seq = run.model.max_seq = 150;
    run.validate.sample = spec::Sample{.prompt = std::string(68, 'x'), .tokens = 80};
    return run;
}

/// Losses of the rank's sequences: of a whole forward pass, and with a cache.
struct Losses {
    std::vector<float> whole, prompt_then_tokens, by_token;
};

/// Trains a little, then computes the losses of the evaluated micro-batch's first sequence.
Losses losses_of(const spec::RunSpec& run, const comm::Context& world) {
    Losses losses;
    test::TinyHooks hooks;
    Assembly* assembly = nullptr;
    hooks.begin = [&](Assembly& made) {
        assembly = &made;
        return 0;
    };
    const auto look = [&](const Assembly&) {
        auto& slot = assembly->evaluate_slot();
        const auto seq = static_cast<std::size_t>(run.data.seq / run.parallel.context);
        losses.whole.assign(slot.losses.begin(), slot.losses.begin() + static_cast<std::ptrdiff_t>(seq));
        const std::vector<std::int32_t> tokens(slot.tokens.begin(), slot.tokens.end());
        const std::vector<std::int32_t> targets(slot.targets.begin(), slot.targets.end());
        const std::vector<std::uint8_t> mask(slot.mask.begin(), slot.mask.end());
        CachedSequences passes{run, *assembly};
        const auto next = [&](int sequence, std::size_t i) {
            return NextToken{sequence, tokens[i], mask[i] != 0 ? targets[i] : -1};
        };
        const int whole = passes.open();
        for (std::size_t i = 0; i < seq; ++i) {
            const auto one = next(whole, i);
            losses.by_token.push_back(passes.losses({&one, 1}, 1).front());
        }
        passes.close(whole);
        const int cut = passes.open();
        std::vector<NextToken> prompt;
        for (std::size_t i = 0; i < seq / 2; ++i) {
            prompt.push_back(next(cut, i));
        }
        passes.read_prompts(prompt, passes.passes_for(schedule::CachedKind::prompt, std::ssize(prompt)));
        for (std::size_t i = seq / 2; i < seq; ++i) {
            const auto one = next(cut, i);
            losses.prompt_then_tokens.push_back(passes.losses({&one, 1}, 1).front());
        }
    };
    test::train_tiny(run, world, test::Keep::nothing, look, hooks);
    return losses;
}

double largest_gap(std::span<const float> got, std::span<const float> expected) {
    double gap = got.size() == expected.size() ? 0 : HUGE_VAL;
    for (std::size_t i = 0; i < got.size() && i < expected.size(); ++i) {
        gap = std::max(gap, std::abs(static_cast<double>(got[i]) - static_cast<double>(expected[i])));
    }
    return gap;
}

void expect_equal(const Losses& losses, const spec::RunSpec& run, const comm::Context& world) {
    if (layout::Mesh{run.parallel}.coordinate(spec::Axis::pipeline, world.rank()) + 1 < run.parallel.stages) {
        return;  // without the head
    }
    const auto second_half = std::span{losses.whole}.subspan(losses.whole.size() / 2);
    const double bound = run.precision.compute == spec::DType::bf16 ? 0.06 : 2e-5;
    EXPECT_LT(largest_gap(losses.by_token, losses.whole), bound);
    EXPECT_LT(largest_gap(losses.prompt_then_tokens, second_half), bound);
    // The test would not notice a cache without effect if the losses did not depend on it.
    EXPECT_GT(*std::ranges::max_element(losses.whole), 1);
}

class Cached : public ::testing::TestWithParam<std::string> {};

TEST_P(Cached, PassesGiveTheLossesOfAWholePass) {
    const comm::Context& world = test::world();
    for (const auto compute : {spec::DType::f32, spec::DType::bf16}) {
        for (const int span : {1, world.size()}) {
            auto run = run_of(GetParam(), world.size());
            run.precision.compute = compute;
            run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = span;
            run.sharding.reduce = span > 1 ? spec::ReducePlan::each_microbatch : spec::ReducePlan::at_end;
            SCOPED_TRACE(testing::Message() << "span " << span << ", compute " << static_cast<int>(compute));
            expect_equal(losses_of(run, world), run, world);
        }
    }
}

TEST_P(Cached, PassesRunOnAnyAxis) {
    const comm::Context& world = test::world();
    for (const std::string axis : {"tensor", "sequence", "stages"}) {
        auto run = run_of(GetParam(), world.size());
        run.parallel.data = run.sharding.sum_group = 1;
        run.train.global_batch /= world.size();
        (axis == "stages" ? run.parallel.stages : run.parallel.tensor) = world.size();
        run.parallel.sequence = axis == "sequence" && world.size() > 1;
        SCOPED_TRACE(axis);
        expect_equal(losses_of(run, world), run, world);
    }
}

TEST_P(Cached, TheHomeOfTheCacheChangesNoBits) {
    const comm::Context& world = test::world();
    const test::ScratchFolder folder;
    auto run = run_of(GetParam(), world.size());
    run.tiers.nvme_paths = {folder.path()};
    run.tiers.nvme_block_bytes = 8192;
    const auto at_device = losses_of(run, world);
    for (const auto home : {spec::Tier::host, spec::Tier::nvme}) {
        run.tiers.kv_cache = home;
        const auto losses = losses_of(run, world);
        EXPECT_EQ(losses.by_token, at_device.by_token);
        EXPECT_EQ(losses.prompt_then_tokens, at_device.prompt_then_tokens);
        EXPECT_EQ(losses.whole, at_device.whole);
    }
}

INSTANTIATE_TEST_SUITE_P(Families, Cached, ::testing::Values("gpt2", "llama", "gemma2", "gemma3", "qwen3"));

}  // namespace
}  // namespace ziggurat::train
