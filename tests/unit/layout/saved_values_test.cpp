#include "layout/families/activations.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "spec/fates.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::layout {
namespace {

std::vector<std::string> names(const spec::RunSpec& run) {
    std::vector<std::string> found;
    for (const auto& activation : activations_of(family_table(run))) {
        found.push_back(activation.name);
    }
    return found;
}

TEST(Activations, AreTheValuesThatBackwardReadsAndTheOutputsBeforeLayers) {
    auto run = test::small_spec("llama");
    run.model.layers = 2;
    const std::vector<std::string> of_layer{
        "attn_norm.out", "attn_norm.inv_std", "qkv",         "attended",  "lse", "mlp_norm.sum",
        "mlp_norm.out",  "mlp_norm.inv_std",  "mlp.gate_up", "mlp.active"};
    std::vector<std::string> expected{"embedding.x"};
    for (const auto& name : of_layer) {
        expected.push_back("layers.0." + name);
    }
    expected.emplace_back("layers.0.residual.out");
    for (const auto& name : of_layer) {
        expected.push_back("layers.1." + name);
    }
    EXPECT_EQ(names(run), expected);
    for (const auto& activation : activations_of(family_table(run))) {
        const bool is_output = activation.name == "embedding.x" || activation.name == "layers.0.residual.out";
        EXPECT_EQ(activation.is_recomputable, !is_output) << activation.name;
    }
}

TEST(Activations, BeginAtTheFirstTrainedTensor) {
    auto run = test::small_spec("gpt2");
    run.model.layers = 2;
    run.train.only = {"layers.1.mlp.down.*"};
    EXPECT_EQ(names(run).front(), "layers.0.residual.out");
    run.train.only = {"final_norm.*"};
    EXPECT_EQ(names(run), std::vector<std::string>{});
}

TEST(Fates, AreThoseOfTheFirstRuleThatMatches) {
    using enum spec::ActivationFate;
    const std::vector<spec::FateRule> rules{
        {"layers.1.qkv", keep}, {"qkv", host}, {"layers.?.mlp.*", recompute}};
    EXPECT_EQ(spec::fate_of(rules, "layers.1.qkv"), keep);
    EXPECT_EQ(spec::fate_of(rules, "layers.0.qkv"), host);
    EXPECT_EQ(spec::fate_of(rules, "layers.0.mlp.up"), recompute);
    EXPECT_EQ(spec::fate_of(rules, "layers.10.mlp.up"), std::nullopt);
    EXPECT_EQ(spec::write_fates(rules),
              "[{match: 'layers.1.qkv', fate: keep}, {match: 'qkv', fate: host}, "
              "{match: 'layers.?.mlp.*', fate: recompute}]");
    EXPECT_EQ(spec::write_fates({}), "none");
}

}  // namespace
}  // namespace ziggurat::layout
