/// Scaled rotary positions in config.json: as export writes them, and as import reads them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "checkpoint/hf/config_text.hpp"
#include "deck/files/hf_config.hpp"
#include "layout/families/family_descriptor.hpp"
#include "layout/families/rope_scalings.hpp"
#include "layout/rotary_frequencies.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

using Json = nlohmann::json;
using Kind = spec::RopeScalingKind;

/// Returns a model with heads of eight rotated channels.
spec::Model model_of(const layout::FamilyDescriptor& family, const spec::RopeScaling& scaling = {}) {
    spec::Model model;
    model.family = family.name;
    model.layers = 2;
    model.hidden = 64;
    model.heads = 4;
    model.head_dim = 16;
    model.kv_heads = 4;
    model.ffn_hidden = 44;
    model.vocab = 37;
    model.vocab_padded = 128;
    model.max_seq = 64;
    model.tie_embeddings = family.ties_embeddings;
    model.rotary_fraction = 0.5;
    model.rope_scaling = scaling;
    return model;
}

spec::Model model_of(const char* family, const spec::RopeScaling& scaling = {}) {
    return model_of(*layout::find_family(family), scaling);
}

/// Returns a scaling with values other than the defaults.
spec::RopeScaling scaling_of(Kind kind) {
    spec::RopeScaling scaling{.kind = kind, .factor = 4};
    if (layout::uses_key(kind, "original_max_seq")) {
        scaling.original_max_seq = 16;
    }
    if (kind == Kind::yarn) {
        scaling.beta_fast = 5.5;
        scaling.beta_slow = 0.75;
        scaling.truncate = false;
    }
    if (kind == Kind::longrope) {
        scaling.short_factors = {1, 1.25, 1.5, 2};
        scaling.long_factors = {1.0800000429153442, 4, 10, 40.5};
    }
    scaling.attention_factor = layout::usual_attention_factor(scaling);
    return scaling;
}

deck::HfConfig read(const std::string& text) {
    const test::ScratchFolder folder;
    std::ofstream{folder.file("config.json")} << text;
    return deck::read_published_config(folder.path());
}

/// Returns the values of the keys of model.rope_scaling in deck syntax.
std::map<std::string, std::string> scaling_in(const std::string& text) {
    constexpr std::string_view map = "model.rope_scaling.";
    const auto config = read(text);
    EXPECT_TRUE(config.reasons.empty()) << config.reasons.front().problem << "\n" << text;
    std::map<std::string, std::string> values;
    for (const auto& value : config.values) {
        if (value.deck_key.starts_with(map)) {
            values[value.deck_key.substr(map.size())] = value.text;
        }
    }
    return values;
}

/// Returns a family's config.json with the changes.
Json changed(const char* family, const Json& changes) {
    auto document = Json::parse(config_text(model_of(family), spec::DType::f32));
    document.update(changes);
    return document;
}

std::map<std::string, std::string> scaling_in(const Json& document) {
    return scaling_in(document.dump(2));
}

double number(const std::map<std::string, std::string>& values, const std::string& key) {
    return values.contains(key) ? std::stod(values.at(key)) : 0;
}

TEST(HfScaling, ComesBackAsItWas) {
    for (const auto* family : layout::families()) {
        for (const auto kind : layout::rope_scaling_kinds) {
            if (!family->scales_by(kind) || !family->has_rotary_positions()) {
                continue;
            }
            for (const double attention_growth : {1.0, 1.5}) {
                auto scaling = scaling_of(kind);
                if (layout::uses_key(kind, "attention_factor")) {
                    scaling.attention_factor *= attention_growth;
                }
                SCOPED_TRACE(fmt::format("{} {}", family->name, layout::name_of(kind)));
                const auto text = config_text(model_of(*family, scaling), spec::DType::f32);
                SCOPED_TRACE(text);
                const auto back = scaling_in(text);
                EXPECT_EQ(back.at("kind"), layout::name_of(kind));
                for (const auto& [key, value] :
                     std::map<std::string, double>{{"factor", scaling.factor},
                                                   {"low_freq_factor", scaling.low_freq_factor},
                                                   {"high_freq_factor", scaling.high_freq_factor},
                                                   {"original_max_seq", scaling.original_max_seq},
                                                   {"beta_fast", scaling.beta_fast},
                                                   {"beta_slow", scaling.beta_slow},
                                                   {"attention_factor", scaling.attention_factor}}) {
                    EXPECT_EQ(back.contains(key), layout::uses_key(kind, key)) << key;
                    EXPECT_EQ(number(back, key), back.contains(key) ? value : 0) << key;
                }
                if (kind == Kind::yarn) {
                    EXPECT_EQ(back.at("truncate"), "false");
                }
                if (kind == Kind::longrope) {
                    EXPECT_EQ(back.at("short_factors"), "[1.0, 1.25, 1.5, 2.0]");
                    EXPECT_EQ(back.at("long_factors"), "[1.0800000429153442, 4.0, 10.0, 40.5]");
                }
            }
        }
    }
}

/// Phi3Config of transformers 4.x refuses a map with more than the type and both lists.
TEST(HfScaling, HasThreeKeysInFilesThatHaveTheOriginalLengthOutside) {
    auto model = model_of("phi3", scaling_of(Kind::longrope));
    auto document = Json::parse(config_text(model, spec::DType::f32));
    EXPECT_EQ(document["original_max_position_embeddings"], 16);
    EXPECT_EQ(document["rope_scaling"], (Json{{"type", "longrope"},
                                              {"short_factor", model.rope_scaling.short_factors},
                                              {"long_factor", model.rope_scaling.long_factors}}));
    // The ratio of the lengths no longer gives the factor.
    model.max_seq = 32;
    document = Json::parse(config_text(model, spec::DType::f32));
    EXPECT_EQ(document["rope_scaling"]["factor"], 4.0);
}

TEST(HfScaling, IsReadInTheSpellingOfTransformers5) {
    const auto values = scaling_in(changed("llama", {{"rope_parameters",
                                                      {{"rope_type", "yarn"},
                                                       {"rope_theta", 10000.0},
                                                       {"factor", 4.0},
                                                       {"beta_fast", nullptr},
                                                       {"original_max_position_embeddings", 32}}}}));
    EXPECT_EQ(values.at("kind"), "yarn");
    EXPECT_EQ(values.at("original_max_seq"), "32");
    EXPECT_EQ(values.at("beta_fast"), "32");
    EXPECT_EQ(values.at("beta_slow"), "1");
    EXPECT_EQ(values.at("truncate"), "true");
    EXPECT_EQ(number(values, "attention_factor"), layout::attention_growth(4));
}

TEST(HfScaling, TakesTheMaximumLengthForAMissingOriginalOne) {
    const Json yarn{{"rope_scaling", {{"type", "yarn"}, {"factor", 4.0}}}};
    EXPECT_EQ(scaling_in(changed("qwen2", yarn)).at("original_max_seq"), "64");
}

/// The number is that of _compute_yarn_parameters of transformers 5.24.0.
TEST(HfScaling, ComputesTheAttentionFactorFromMscales) {
    Json map{{"rope_type", "yarn"},
             {"factor", 40.0},
             {"original_max_position_embeddings", 16},
             {"mscale", 0.707},
             {"mscale_all_dim", 1.0}};
    EXPECT_DOUBLE_EQ(number(scaling_in(changed("llama", {{"rope_scaling", map}})), "attention_factor"),
                     0.9210423553163399);
    map["mscale"] = 0;
    map["mscale_all_dim"] = 0.0;
    EXPECT_DOUBLE_EQ(number(scaling_in(changed("llama", {{"rope_scaling", map}})), "attention_factor"),
                     layout::attention_growth(40));
}

TEST(HfScaling, HasOlderNamesInFilesOfOneFamily) {
    const Json lists{{"short_factor", {1.0, 1.0, 1.5, 2.0}}, {"long_factor", {1.0, 2.0, 3.0, 4.0}}};
    const auto with_type = [&](const Json& types) {
        Json map = lists;
        map.update(types);
        return Json{
            {"rope_scaling", map}, {"original_max_position_embeddings", 16}, {"partial_rotary_factor", 0.5}};
    };
    for (const auto& types : {Json{{"type", "longrope"}}, Json{{"type", "su"}}, Json{{"type", "yarn"}},
                              Json{{"type", "su"}, {"rope_type", "longrope"}}}) {
        const auto values = scaling_in(changed("phi3", with_type(types)));
        EXPECT_EQ(values.at("kind"), "longrope") << types;
        EXPECT_EQ(values.at("original_max_seq"), "16") << types;
        EXPECT_EQ(number(values, "factor"), 4) << types;
    }
    // The class's default, 4096, is longer than all sequences.
    auto without_length = with_type({{"type", "longrope"}});
    without_length.erase("original_max_position_embeddings");
    const auto values = scaling_in(changed("phi3", without_length));
    EXPECT_EQ(values.at("original_max_seq"), "4096");
    EXPECT_EQ(number(values, "factor"), 1);
    EXPECT_EQ(number(values, "attention_factor"), 1);
}

TEST(HfScaling, RefusesWhatItDoesNotUse) {
    const Json lists{{"short_factor", {1.0, 2.0}}, {"long_factor", {1.0, 2.0}}};
    Json mixed = lists;
    mixed.update({{"rope_type", "longrope"}, {"original_max_position_embeddings", 16}});
    mixed["long_factor"] = {1.0, "two"};
    const struct {
        const char* family;
        Json changes;
        std::string problem;
    } cases[] = {
        {"llama", {{"rope_scaling", {{"rope_type", "yarn"}}}}, "rope type \"yarn\" without factor"},
        {"llama",
         {{"rope_scaling", {{"rope_type", "linear"}, {"factor", 2.0}, {"beta_fast", 32.0}}}},
         "rope_scaling.beta_fast = 32.0 is not used"},
        {"llama",
         {{"rope_scaling", {{"rope_type", "yarn"}, {"factor", 2.0}, {"finetuned", true}}}},
         "rope_scaling.finetuned = true is not used"},
        {"llama",
         {{"rope_scaling", {{"rope_type", "yarn"}, {"factor", 2.0}, {"mscale", 0.7}}}},
         "rope_scaling.mscale = 0.7 is not used"},
        {"llama", {{"rope_scaling", mixed}}, "rope_scaling.long_factor = [1.0,\"two\"]"},
        {"llama",
         {{"rope_scaling", {{"rope_type", "yarn"}, {"factor", 2.0}}},
          {"rope_parameters", {{"rope_type", "yarn"}, {"factor", 2.0}, {"beta_slow", 3.0}}}},
         "rope_parameters.beta_slow = 3.0 contradicts rope_scaling.beta_slow, which is not given and so = 1"},
        {"phi3",
         {{"rope_scaling", {{"type", "yarn"}, {"factor", 2.0}}}},
         "rope type \"yarn\" without short_factor"},
        {"phi3",
         {{"rope_scaling", {{"type", "linear"}, {"factor", 2.0}}}},
         "rope type \"linear\" is not implemented"},
        {"phi3",
         {{"rope_scaling",
           {{"type", "longrope"},
            {"short_factor", {1.0}},
            {"long_factor", {1.0}},
            {"original_max_position_embeddings", 8}}},
          {"original_max_position_embeddings", 16}},
         "rope_scaling.original_max_position_embeddings = 8 contradicts original_max_position_embeddings = "
         "16"},
    };
    for (const auto& [family, changes, problem] : cases) {
        const auto config = read(changed(family, changes).dump(2));
        ASSERT_FALSE(config.reasons.empty()) << problem;
        EXPECT_EQ(config.reasons.front().problem, problem);
    }
}

}  // namespace
}  // namespace ziggurat::checkpoint::hf
