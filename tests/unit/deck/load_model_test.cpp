#include "deck/load.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "layout/families/family_descriptor.hpp"
#include "tests/unit/deck/load_fixture.hpp"

namespace ziggurat::deck {
namespace {

TEST_F(Load, FillsTheModelFromAPreset) {
    const LoadedDeck loaded =
        load_base("", {"model={preset: llama-8b, layers: 4}", "data.seq=128", "model.norm_epsilon=1e-6"});

    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.run.model.layers, 4);
    EXPECT_EQ(loaded.run.model.kv_heads, 8);
    EXPECT_EQ(loaded.run.model.rope_theta, 500000);
    EXPECT_EQ(loaded.run.model.max_seq, 8192);
    EXPECT_EQ(loaded.found.notes(), 1u);
    EXPECT_NE(loaded.found.print().find("model.layers = 4 replaces 32 in preset llama-8b"),
              std::string::npos);
    EXPECT_NE(loaded.effective.find("# preset llama-8b"), std::string::npos);
}

TEST_F(Load, ReadsConstantFactorsAndWritesThemBack) {
    const std::string usual = "{family: granite, layers: 2, hidden: 44, heads: 2";
    const std::string given =
        usual + ", attention_scale: 0.015625, multiplier: {embedding: 12, residual: 0.22, logits: 0.125}";
    for (const auto& text : {usual, given}) {
        const LoadedDeck loaded = load_base("", {"model=" + text + "}"});

        ASSERT_TRUE(loaded.ok()) << loaded.found.print();
        const auto& model = loaded.run.model;
        EXPECT_EQ(model.attention_scale, text == given ? 0.015625 : 1 / std::sqrt(22.0));
        EXPECT_EQ(model.multiplier,
                  text == given ? (spec::Multipliers{12, 0.22, 0.125}) : spec::Multipliers{});
        const LoadedDeck again =
            load_text(loaded.effective, "again.yaml", {}, {.ranks = 1, .machine = machine_});
        ASSERT_TRUE(again.ok()) << again.found.print();
        EXPECT_EQ(again.run.model, model);
    }
}

TEST_F(Load, ReadsSoftCapsAndWritesThemBack) {
    const std::pair<std::string, spec::Softcap> cases[] = {
        {"", {50, 30}}, {", softcap: {attention: none}", {0, 30}}, {", softcap: {logits: 2.5}", {50, 2.5}}};
    for (const auto& [text, softcap] : cases) {
        const LoadedDeck loaded =
            load_base("", {"model={family: gemma2, layers: 2, hidden: 44, heads: 2" + text + "}"});

        ASSERT_TRUE(loaded.ok()) << loaded.found.print();
        EXPECT_EQ(loaded.run.model.softcap, softcap) << text;
        const LoadedDeck again =
            load_text(loaded.effective, "again.yaml", {}, {.ranks = 1, .machine = machine_});
        ASSERT_TRUE(again.ok()) << again.found.print();
        EXPECT_EQ(again.run.model, loaded.run.model);
    }
}

TEST_F(Load, PadsTheVocabularyToWhatTensorRanksShare) {
    const std::map<int, std::int64_t> padded{{1, 50304}, {2, 50304}, {3, 50304}, {5, 50560}};
    for (const auto& [tensor, rows] : padded) {
        const LoadedDeck loaded =
            load_base("",
                      {"model={family: gpt2, layers: 2, hidden: 60, heads: 30, vocab: 50257}",
                       "parallel.tensor=" + std::to_string(tensor)},
                      {.ranks = tensor});
        ASSERT_TRUE(loaded.ok()) << loaded.found.print();
        EXPECT_EQ(loaded.run.model.vocab_padded, rows) << "tensor " << tensor;
    }
    const LoadedDeck own =
        load_base("",
                  {"model={family: gpt2, layers: 2, hidden: 60, heads: 30, vocab: 50257, vocab_pad_to: 1}",
                   "parallel.tensor=3"},
                  {.ranks = 3});
    EXPECT_FALSE(own.ok());
    EXPECT_NE(own.found.print().find("model.vocab_pad_to: auto makes its rows fit"), std::string::npos);
}

TEST_F(Load, LetsTensorRanksShareHeadsOfKeys) {
    for (const int tensor : {2, 4, 12}) {
        const LoadedDeck loaded =
            load_base("",
                      {"model={family: llama, layers: 2, hidden: 48, heads: 12, kv_heads: 2, ffn_hidden: 24}",
                       "parallel.tensor=" + std::to_string(tensor)},
                      {.ranks = tensor});
        EXPECT_TRUE(loaded.ok()) << loaded.found.print();
    }
}

TEST_F(Load, FillsEveryPresetWithTheModelOfThatName) {
    for (const auto* family : layout::families()) {
        for (const auto& preset : family->presets) {
            const LoadedDeck loaded =
                load_base("", {std::string{"model={preset: "} + preset.name + "}", "data.seq=128"});

            ASSERT_TRUE(loaded.ok()) << preset.name << loaded.found.print();
            auto expected = preset.model;
            if (expected.head_dim == 0) {
                expected.head_dim = expected.hidden / expected.heads;
            }
            if (!family->has_multipliers) {
                expected.attention_scale = expected.usual_attention_scale();
            }
            expected.vocab_padded = loaded.run.model.vocab_padded;
            EXPECT_EQ(loaded.run.model, expected) << preset.name;
        }
    }
}

/// The deck of the run has the number, and gives the same run.
TEST_F(Load, ResolvesTheFactorOfScaledPositions) {
    const auto load_scaled = [&](const std::string& scaling) {
        return load_base("", {"model={family: llama, layers: 2, hidden: 32, heads: 4, rope_scaling: {" +
                              scaling + ", original_max_seq: 4096}}"});
    };
    const auto yarn = load_scaled("kind: yarn, factor: 4");
    ASSERT_TRUE(yarn.ok()) << yarn.found.print();
    EXPECT_DOUBLE_EQ(yarn.run.model.rope_scaling.attention_factor, 1.138629436111989);
    EXPECT_NE(yarn.effective.find("# auto: from factor"), std::string::npos) << yarn.effective;
    EXPECT_EQ(yarn.effective.find("short_factors"), std::string::npos) << yarn.effective;

    const auto longrope = load_scaled(
        "kind: longrope, factor: 32, short_factors: [1, 1.25, 1.5, 2], long_factors: [1.5, 4, 10, 40]");
    ASSERT_TRUE(longrope.ok()) << longrope.found.print();
    const auto& scaling = longrope.run.model.rope_scaling;
    EXPECT_DOUBLE_EQ(scaling.attention_factor, 1.1902380714238083);
    EXPECT_EQ(scaling.short_factors, (std::vector<double>{1, 1.25, 1.5, 2}));
    EXPECT_EQ(scaling.long_factors, (std::vector<double>{1.5, 4, 10, 40}));

    const auto given = load_scaled("kind: yarn, factor: 4, attention_factor: 1.5");
    EXPECT_EQ(given.run.model.rope_scaling.attention_factor, 1.5);

    for (const auto* loaded : {&yarn, &longrope, &given}) {
        const auto again =
            load_text(loaded->effective, "effective.yaml", {}, {.ranks = 1, .machine = machine_});
        EXPECT_TRUE(again.ok()) << again.found.print();
        EXPECT_EQ(again.run, loaded->run) << loaded->effective;
    }
}

TEST_F(Load, TakesWhatADeckDoesNotSayFromTheFamily) {
    for (const auto* family : layout::families()) {
        const std::string model_text{family->name};
        const LoadedDeck loaded =
            load_base("", {"model={family: " + model_text + ", layers: 2, hidden: 64, heads: 2}"});

        ASSERT_TRUE(loaded.ok()) << family->name << loaded.found.print();
        const auto& model = loaded.run.model;
        EXPECT_EQ(model.family, family->name);
        EXPECT_EQ(model.ffn_hidden, family->usual_ffn_hidden(64)) << family->name;
        EXPECT_EQ(model.tie_embeddings, family->ties_embeddings) << family->name;
        EXPECT_EQ(model.rotary_fraction, family->rotary_fraction) << family->name;
        EXPECT_EQ(model.attention_scale, model.usual_attention_scale()) << family->name;
        EXPECT_EQ(model.multiplier, spec::Multipliers{}) << family->name;
        EXPECT_EQ(loaded.effective.find("attention_scale") != std::string::npos, family->has_attention_scale);
        EXPECT_EQ(loaded.effective.find("multiplier") != std::string::npos, family->has_multipliers);
        EXPECT_EQ(loaded.effective.find("window_rope_theta") != std::string::npos,
                  family->window_rope_theta > 0);
        EXPECT_EQ(loaded.effective.find("rope_theta") != std::string::npos, family->has_rotary_positions());
        EXPECT_EQ(loaded.effective.find("rotary_fraction") != std::string::npos,
                  family->has_rotary_positions());
    }
}

}  // namespace
}  // namespace ziggurat::deck
