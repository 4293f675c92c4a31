#include "schedule/passes/recompute_pass.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "schedule/build_program.hpp"
#include "schedule/place/place_buffers.hpp"
#include "tests/unit/schedule/program_text.hpp"
#include "tests/unit/schedule/small_spec.hpp"
#include "tests/unit/schedule/symbolic_memory.hpp"

namespace ziggurat::schedule {
namespace {

using spec::RecomputeKind;

spec::RunSpec spec_of(const std::string& family, RecomputeKind kind, int layers = 1, int every = 1) {
    auto spec = test::small_spec(family);
    spec.model.layers = layers;
    spec.train.micro_batches = 1;
    spec.recompute.kind = kind;
    spec.recompute.every = every;
    return spec;
}

/// Returns the recomputed phases, in order.
/// Returns the phases of clones, and those whose gradient also computes their output again (fuse_glu_pass).
std::vector<std::string> redone(const Program& program, const ModelLayout& model) {
    std::vector<std::string> found;
    for (const auto& op : program.ops) {
        const bool is_with_gradient =
            op.direction == Direction::backward && program.find_write(op, Role::activated) != nullptr;
        if (op.direction == Direction::recompute || is_with_gradient) {
            const auto& unit = model.table.units[static_cast<std::size_t>(op.unit)];
            found.push_back(op.kind == OpKind::compute
                                ? unit.name + "." + unit.phases[static_cast<std::size_t>(op.phase)].name
                                : unit.name + " " + to_string(op.kind));
        }
    }
    return found;
}

std::vector<std::string> redone(const spec::RunSpec& spec) {
    const ModelLayout model{spec, 0};
    return redone(build_program(spec, model, Variant::train), model);
}

using Phases = std::vector<std::string>;

TEST(RecomputePass, DoesNothingWhenAllIsKept) {
    EXPECT_EQ(redone(spec_of("llama", RecomputeKind::none)), Phases{});
}

TEST(RecomputePass, RepeatsNoProductWithWeightsWhenSelective) {
    for (const std::string family : {"gpt2", "llama"}) {
        EXPECT_EQ(
            redone(spec_of(family, RecomputeKind::selective)),
            (Phases{"layers.0.attn_norm", "layers.0.attention", "layers.0.mlp_norm", "layers.0.activation"}));
    }
}

TEST(RecomputePass, RepeatsALayerUpToWhatBackwardReads) {
    EXPECT_EQ(redone(spec_of("llama", RecomputeKind::full)),
              (Phases{"layers.0.attn_norm", "layers.0.qkv", "layers.0.rope", "layers.0.attention",
                      "layers.0.projection", "layers.0.mlp_norm", "layers.0.mlp_in", "layers.0.activation"}));
}

TEST(RecomputePass, RepeatsRunsOfLayersFromTheirInput) {
    const auto phases = redone(spec_of("gpt2", RecomputeKind::full, 3, 2));

    ASSERT_EQ(phases.size(), 7u + 9u + 7u);  // layer 2, then 0 to its end and 1
    EXPECT_EQ(phases.front(), "layers.2.attn_norm");
    EXPECT_EQ(phases[7], "layers.0.attn_norm");
    EXPECT_EQ(phases[15], "layers.0.residual");
    EXPECT_EQ(phases[16], "layers.1.attn_norm");
}

TEST(RecomputePass, LeavesTheTokensOfOthersToBackwardsOwnGathers) {
    auto spec = spec_of("llama", RecomputeKind::selective);
    spec.parallel.tensor = spec.parallel.ranks = 2;
    spec.parallel.sequence = true;

    EXPECT_EQ(redone(spec), (Phases{"layers.0.attn_norm", "layers.0.attention", "layers.0.mlp_norm",
                                    "layers.0.activation"}));
}

/// Returns the collectives of the middle one of three layers: forward, backward and recomputation.
std::map<std::pair<OpKind, Direction>, int> collectives_of_a_layer(const spec::RunSpec& spec) {
    std::map<std::pair<OpKind, Direction>, int> found;
    for (const auto& op : build_program(spec, 0, Variant::train).ops) {
        if (op.purpose == Purpose::tensor && op.unit == 2) {
            ++found[{op.kind, op.direction}];
        }
    }
    return found;
}

TEST(RecomputePass, BackwardGathersWithSequenceWhatForwardGatheredWhateverIsComputedAgain) {
    for (const std::string family : {"gpt2", "llama"}) {
        for (const auto kind : {RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full}) {
            auto spec = spec_of(family, kind, 3);
            spec.parallel.tensor = spec.parallel.ranks = 2;
            spec.parallel.sequence = true;

            auto found = collectives_of_a_layer(spec);

            EXPECT_EQ((found[{OpKind::all_gather, Direction::forward}]), 2) << family;
            EXPECT_EQ((found[{OpKind::reduce_scatter, Direction::forward}]), 2) << family;
            EXPECT_EQ((found[{OpKind::all_gather, Direction::backward}]), 4) << family;
            EXPECT_EQ((found[{OpKind::reduce_scatter, Direction::backward}]), 2) << family;
            const bool is_full = kind == RecomputeKind::full;
            EXPECT_EQ((found[{OpKind::all_gather, Direction::recompute}]), is_full ? 2 : 0) << family;
            EXPECT_EQ((found[{OpKind::reduce_scatter, Direction::recompute}]), is_full ? 1 : 0) << family;
        }
    }
}

/// Returns the bytes of activations that are saved from forward to backward.
std::int64_t kept_bytes(const spec::RunSpec& spec) {
    const auto program = build_program(spec, 0, Variant::train);
    const auto ranges = live_ranges(program);
    const auto turn = std::find_if(program.ops.begin(), program.ops.end(),
                                   [](const Op& op) { return op.kind == OpKind::loss; });
    const auto at = static_cast<int>(turn - program.ops.begin());
    std::int64_t bytes = 0;
    for (std::size_t b = 0; b < ranges.size(); ++b) {
        const auto& buffer = program.buffers[b];
        if (buffer.lifetime == Lifetime::transient && ranges[b].first < at && ranges[b].last > at &&
            buffer.name.starts_with("layers.")) {
            EXPECT_EQ(buffer.consumer, MemoryCategory::activations) << buffer.name;
            bytes += buffer.bytes;
        }
    }
    return bytes;
}

TEST(RecomputePass, KeepsWhatItSays) {
    const std::int64_t value = 32 * 32 * 4;  // one value of the model's width
    const std::int64_t row = 32 * 4;         // one number per token
    // GPT-2: attn_norm, 3 qkv, attended, sum, mlp_norm, 4 up, 4 active, output; 2 statistics twice, 4 lse
    EXPECT_EQ(kept_bytes(spec_of("gpt2", RecomputeKind::none)), 16 * value + 8 * row);
    // qkv, branch of attention, up, output
    EXPECT_EQ(kept_bytes(spec_of("gpt2", RecomputeKind::selective)), 9 * value);
    // the output of each group of layers
    EXPECT_EQ(kept_bytes(spec_of("gpt2", RecomputeKind::full)), 1 * value);
    EXPECT_EQ(kept_bytes(spec_of("gpt2", RecomputeKind::full, 4)), 4 * value);
    EXPECT_EQ(kept_bytes(spec_of("gpt2", RecomputeKind::full, 4, 2)), 2 * value);
}

spec::RunSpec with_fates(spec::RunSpec spec, std::vector<spec::FateRule> fates) {
    spec.recompute.fates = std::move(fates);
    return spec;
}

using enum spec::ActivationFate;

TEST(RecomputePass, RepeatsThePhaseOfAnActivationWithThatFate) {
    const auto spec = spec_of("gpt2", RecomputeKind::none);
    EXPECT_EQ(redone(with_fates(spec, {{"mlp.up", recompute}})), Phases{"layers.0.mlp_in"});
    EXPECT_EQ(redone(with_fates(spec, {{"mlp.active", recompute}})), Phases{"layers.0.activation"});
    EXPECT_EQ(redone(with_fates(spec, {{"layers.1.mlp.up", recompute}})), Phases{});
    EXPECT_EQ(redone(with_fates(spec, {{"qkv", keep}, {"qkv", recompute}})), Phases{})
        << "the first rule applies";
    EXPECT_EQ(redone(with_fates(spec_of("llama", RecomputeKind::none), {{"qkv", recompute}})),
              (Phases{"layers.0.qkv", "layers.0.rope"}));
}

TEST(RecomputePass, RepeatsPhasesWhoseResultsARecomputedActivationNeeds) {
    EXPECT_EQ(redone(with_fates(spec_of("gpt2", RecomputeKind::none), {{"mlp_norm.out", recompute}})),
              (Phases{"layers.0.projection", "layers.0.mlp_norm"}));
    EXPECT_EQ(redone(with_fates(spec_of("gpt2", RecomputeKind::selective), {{"mlp.up", recompute}})),
              (Phases{"layers.0.attn_norm", "layers.0.attention", "layers.0.mlp_norm", "layers.0.mlp_in",
                      "layers.0.activation"}));
    const auto all =
        with_fates(spec_of("llama", RecomputeKind::none), {{"residual.out", keep}, {"layers.*", recompute}});
    EXPECT_EQ(redone(all), redone(spec_of("llama", RecomputeKind::full)));
}

TEST(RecomputePass, KeepsAnActivationWithThatFateWhenLayersAreRepeated) {
    const auto fates = std::vector<spec::FateRule>{{"attended", keep}, {"lse", keep}};
    EXPECT_EQ(redone(with_fates(spec_of("llama", RecomputeKind::full), fates)),
              (Phases{"layers.0.attn_norm", "layers.0.qkv", "layers.0.rope", "layers.0.projection",
                      "layers.0.mlp_norm", "layers.0.mlp_in", "layers.0.activation"}));
}

TEST(RecomputePass, KeepsNothingOfRecomputedActivations) {
    const std::int64_t value = 32 * 32 * 4;
    const std::int64_t row = 32 * 4;
    const auto spec = spec_of("gpt2", RecomputeKind::none);
    EXPECT_EQ(kept_bytes(with_fates(spec, {{"mlp.*", recompute}})), 8 * value + 8 * row);
    // The statistics of the norm stay saved, although its clone computes them again.
    EXPECT_EQ(kept_bytes(with_fates(spec, {{"attn_norm.out", recompute}})), 15 * value + 8 * row);
}

TEST(RecomputePass, ChangesNoBitOfTheStateForFates) {
    for (const std::string family : {"gpt2", "llama"}) {
        const auto state = [&](RecomputeKind kind, const std::vector<spec::FateRule>& fates) {
            auto spec = with_fates(spec_of(family, kind, 3), fates);
            spec.model.dropout = family == "gpt2" ? 0.1 : 0;
            spec.train.micro_batches = 2;
            return test::run_in_list_order(build_program(spec, 0, Variant::train), 2);
        };
        const auto expected = state(RecomputeKind::none, {});
        for (const auto& [kind, fates] : std::vector<std::pair<RecomputeKind, std::vector<spec::FateRule>>>{
                 {RecomputeKind::none, {{"attn_norm.out", recompute}}},
                 {RecomputeKind::none, {{"mlp_norm.out", recompute}, {"mlp.active", recompute}}},
                 {RecomputeKind::none, {{"layers.1.attended", recompute}, {"qkv", recompute}}},
                 {RecomputeKind::selective, {{"mlp_norm.sum", recompute}, {"mlp.active", keep}}},
                 {RecomputeKind::full, {{"mlp_norm.sum", keep}, {"layers.2.qkv", keep}}}}) {
            EXPECT_EQ(state(kind, fates), expected) << family << " " << fates.front().match;
        }
    }
}

TEST(RecomputePass, ChangesNoBitOfTheState) {
    for (const std::string family : {"gpt2", "llama"}) {
        for (const double dropout : {0.0, 0.1}) {
            const auto state = [&](RecomputeKind kind, int every) {
                auto spec = spec_of(family, kind, 3, every);
                spec.model.dropout = dropout;
                spec.train.micro_batches = 2;
                return test::run_in_list_order(build_program(spec, 0, Variant::train), 2);
            };
            const auto expected = state(RecomputeKind::none, 1);

            EXPECT_EQ(state(RecomputeKind::selective, 1), expected);
            EXPECT_EQ(state(RecomputeKind::full, 1), expected);
            EXPECT_EQ(state(RecomputeKind::full, 2), expected);
        }
    }
}

TEST(RecomputePass, ChangesNoBitOfTheStateWithFusedProducts) {
    const auto state = [](RecomputeKind kind, const std::vector<spec::FateRule>& fates) {
        auto spec = with_fates(spec_of("llama", kind, 3), fates);
        spec.train.micro_batches = 2;
        spec.tiers.device = spec::DeviceKind::cuda;
        spec.precision.compute = spec::DType::bf16;
        spec.precision.products = spec::ProductChoice::fused;
        return test::run_in_list_order(build_program(spec, 0, Variant::train), 2);
    };
    const auto expected = state(RecomputeKind::none, {});
    EXPECT_EQ(state(RecomputeKind::selective, {}), expected);
    EXPECT_EQ(state(RecomputeKind::none, {{"mlp.active", recompute}}), expected);
}

}  // namespace
}  // namespace ziggurat::schedule
