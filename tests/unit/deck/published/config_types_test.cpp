/// Values in config.json that the classes of transformers 5 refuse are refused with their keys.
#include "deck/files/config_types.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "deck/files/hf_config.hpp"
#include "layout/families/family_descriptor.hpp"

namespace ziggurat::deck {
namespace {

using Json = nlohmann::json;

/// Returns a configuration with the keys that the family needs.
Json usual(const layout::FamilyDescriptor& family) {
    Json document{{"model_type", family.published.model_type}};
    for (const auto& [deck_key, number] : {std::pair{"model.layers", 4},
                                           {"model.hidden", 32},
                                           {"model.heads", 4},
                                           {"model.kv_heads", 2},
                                           {"model.head_dim", 8},
                                           {"model.ffn_hidden", 48},
                                           {"model.vocab", 96},
                                           {"model.max_seq", 64},
                                           {"model.window", 16}}) {
        for (const auto& key : family.published.keys) {
            if (key.deck_key == std::string_view{deck_key}) {
                document[key.name] = number;
            }
        }
    }
    return document;
}

Json usual(const char* family) {
    return usual(*layout::find_family(family));
}

HfConfig read(const Json& document) {
    return read_config_text("config.json", document.dump(2));
}

/// Returns `problem (reason)` of the only error, or the number of errors.
std::string only_error(const HfConfig& config) {
    return config.reasons.size() == 1
               ? config.reasons.front().problem + " (" + config.reasons.front().reason + ")"
               : std::to_string(config.reasons.size()) + " errors";
}

/// Returns the line of config.json in which a key is, as dump(2) writes it.
int line_of(const Json& document, const std::string& key) {
    int line = 2;
    for (const auto& [name, value] : document.items()) {
        if (name == key) {
            return line;
        }
        const auto text = value.dump(2);
        line += 1 + static_cast<int>(std::count(text.begin(), text.end(), '\n'));
    }
    return 0;
}

TEST(ConfigTypes, AcceptsWhatEachClassAccepts) {
    for (const auto* family : layout::families()) {
        EXPECT_TRUE(read(usual(*family)).reasons.empty()) << family->name;
        for (const auto& field : family->published.fields) {
            auto document = usual(*family);
            if (field.type.has(layout::hf_null) && field.name != std::string_view{"sliding_window"}) {
                document[field.name] = nullptr;
                EXPECT_EQ(only_error(read(document)), "0 errors") << family->name << " " << field.name;
            }
        }
    }
}

TEST(ConfigTypes, RefusesOtherTypesOfEachKeyOfEachClass) {
    const std::pair<layout::HfType, Json> values[] = {
        {layout::hf_null, nullptr},       {layout::hf_whole, 4},
        {layout::hf_real, 4.0},           {layout::hf_boolean, true},
        {layout::hf_text, "4"},           {layout::hf_map, Json::object()},
        {layout::hf_whole_list, Json{4}}, {layout::hf_text_list, Json{"4"}}};
    const Json lists_of_others[] = {Json{nullptr}, Json{true}, Json{4.0}, Json{4, "4"}};
    for (const auto* family : layout::families()) {
        EXPECT_GE(family->published.fields.size(), 15u) << family->name;
        for (const auto& field : family->published.fields) {
            auto refuses = [&](const Json& value) {
                auto document = usual(*family);
                document[field.name] = value;
                const auto config = read(document);
                const auto problem = std::string{field.name} + " = " + value.dump() + " (";
                EXPECT_TRUE(only_error(config).starts_with(problem))
                    << family->name << ": " << only_error(config);
                EXPECT_TRUE(only_error(config).ends_with("is expected there)")) << only_error(config);
                EXPECT_EQ(config.reasons.front().line, line_of(document, field.name)) << field.name;
                EXPECT_EQ(config.reasons.front().column, 3);
            };
            for (const auto& [type, value] : values) {
                if (!field.type.has(type)) {
                    refuses(value);
                }
            }
            for (const auto& value : lists_of_others) {
                refuses(value);
            }
        }
    }
}

TEST(ConfigTypes, ChecksEachKeyWithWhichAnImportBegins) {
    for (const auto* family : layout::families()) {
        for (const auto& key : family->published.keys) {
            const bool is_field = std::ranges::any_of(family->published.fields, [&](const auto& field) {
                return field.name == std::string_view{key.name};
            });
            const bool is_position = key.in_rope_parameters != nullptr ||
                                     key.deck_key == std::string_view{"model.window_rope_theta"};
            EXPECT_TRUE(is_field || is_position || key.name == std::string_view{"head_dim"})
                << family->name << " " << key.name;
        }
    }
}

struct Case {
    const char* family;
    Json changes;
    std::string error;
};

void expect_refused(const std::vector<Case>& cases) {
    for (const auto& [family, changes, error] : cases) {
        auto document = usual(family);
        document.update(changes);
        EXPECT_EQ(only_error(read(document)), error) << family << changes;
    }
}

TEST(ConfigTypes, RefusesListsWithoutAnEntryForEachLayer) {
    for (const char* family : {"gemma2", "gemma3", "qwen2", "qwen3", "smollm3", "llama", "mistral"}) {
        for (const int count : {0, 1, 3, 5, 8}) {
            expect_refused({{family,
                             {{"layer_types", Json(count, "full_attention")}},
                             "layer_types has " + std::to_string(count) +
                                 " entries, num_hidden_layers is 4 (the list has an entry for each layer)"}});
        }
    }
    for (const int count : {0, 3, 5}) {
        expect_refused({{"smollm3",
                         {{"no_rope_layers", Json(count, 1)}},
                         "no_rope_layers has " + std::to_string(count) +
                             " entries, num_hidden_layers is 4 (the list has an entry for each layer)"}});
    }
}

TEST(ConfigTypes, RefusesUnknownNames) {
    const std::string known = "a layer has full_attention or sliding_attention here";
    const Json with_null{"full_attention", nullptr, "full_attention", "full_attention"};
    const Json with_text{"full_attention", "full_attention", "linear_attention", "full_attention"};
    expect_refused(
        {{"gemma2",
          {{"layer_types", with_text}},
          "layer_types[2] = \"linear_attention\" is not implemented (" + known + ")"},
         {"llama",
          {{"layer_types", "full_attention"}},
          "layer_types = \"full_attention\" (a list of texts is expected there)"},
         {"llama",
          {{"layer_types", with_null}},
          "layer_types = " + with_null.dump() + " (a list of texts is expected there)"},
         {"llama",
          {{"rope_scaling", {{"rope_type", "spiral"}, {"factor", 2.0}}}},
          "rope type \"spiral\" is not implemented (positions are not scaled, or by linear, llama3, "
          "yarn, longrope or dynamic; the key is rope_scaling.rope_type)"},
         {"llama",
          {{"rope_parameters", {{"rope_type", nullptr}}}},
          "rope_parameters.rope_type = null (the name of a type is expected there)"},
         {"llama",
          {{"rope_scaling", {{"type", 1}}}},
          "rope_scaling.type = 1 (the name of a type is expected there)"}});
}

TEST(ConfigTypes, RefusesValuesThatTheClassesReadInAnotherSense) {
    const std::string only =
        "the class reads only rope_parameters.full_attention and rope_parameters.sliding_attention";
    expect_refused(
        {{"gemma3",
          {{"rope_parameters", {{"rope_theta", 5000.0}}}},
          "rope_parameters.rope_theta = 5000.0 is not used (" + only + ")"},
         {"gemma3",
          {{"sliding_window", nullptr}},
          "sliding_window = null is not implemented (all layers have a mask of a window in the class of "
          "transformers)"},
         {"gemma2",
          {{"sliding_window", nullptr}},
          "sliding_window = null is not implemented (all layers have a mask of a window in the class of "
          "transformers)"},
         {"gemma3",
          {{"sliding_window_pattern", nullptr}},
          "sliding_window_pattern = null is not implemented (a positive number of layers is expected there)"},
         {"gemma",
          {{"use_bidirectional_attention", true}},
          "use_bidirectional_attention = true is not implemented (models in Ziggurat do not use it)"},
         {"llama",
          {{"per_layer_config", {{"0", {{"hidden_size", 16}}}}}},
          "per_layer_config = {\"0\":{\"hidden_size\":16}} is not implemented (models in Ziggurat do not use "
          "it)"},
         {"gpt2",
          {{"initializer_range", 1.5}},
          "initializer_range = 1.5 (a number from 0 to 1 is expected there)"},
         {"gpt2",
          {{"initializer_range", -0.5}},
          "initializer_range = -0.5 (a number from 0 to 1 is expected there)"},
         {"gpt2",
          {{"id2label", {{"a", "b"}}}},
          "id2label = {\"a\":\"b\"} (a map with whole numbers as keys is expected there)"},
         {"gpt2",
          {{"id2label", Json{"a"}}},
          "id2label = [\"a\"] (a map with whole numbers as keys is expected there)"},
         {"gpt2",
          {{"layer_norm_epsilon", 1e25}},
          "layer_norm_epsilon = 1e+25 (a number with a decimal point is expected there)"},
         {"gpt2",
          {{"num_hidden_layers", 4.0}},
          "num_hidden_layers = 4.0 (a whole number is expected there)"}});
    for (const char* family : {"llama", "gpt_neox", "gemma2", "gemma3"}) {
        EXPECT_TRUE(only_error(read([&] {
                        auto document = usual(family);
                        document["num_attention_heads"] = 5;
                        return document;
                    }()))
                        .starts_with("num_attention_heads = 5 does not divide hidden_size = 32 ("))
            << family;
    }
}

TEST(ConfigTypes, ReadsNumbersAsPublishersWriteThem) {
    const std::pair<const char*, Json> cases[] = {
        {"llama",
         {{"rope_theta", 10000},
          {"rope_scaling", nullptr},
          {"head_dim", nullptr},
          {"pad_token_id", -1},
          {"eos_token_id", {1, 2}}}},
        {"llama", {{"rope_theta", 1e6}, {"num_key_value_heads", nullptr}, {"attention_dropout", 0}}},
        {"gpt_neox", {{"rotary_emb_base", 10000}, {"hidden_dropout", 0}}},
        {"gemma", {{"hidden_act", "gelu"}, {"hidden_activation", nullptr}}},
        {"gemma3",
         {{"rope_local_base_freq", 10000}, {"attn_logit_softcapping", nullptr}, {"rope_scaling", nullptr}}},
        {"granite",
         {{"embedding_multiplier", 12}, {"logits_scaling", 16.0}, {"attention_multiplier", 0.015625}}},
        {"qwen3", {{"sliding_window", nullptr}, {"use_sliding_window", false}, {"rope_scaling", nullptr}}},
        {"mistral", {{"sliding_window", nullptr}, {"head_dim", nullptr}}},
        {"gpt2", {{"n_inner", nullptr}, {"summary_activation", nullptr}, {"n_ctx", 64}}}};
    for (const auto& [family, changes] : cases) {
        auto document = usual(family);
        document.update(changes);
        EXPECT_EQ(only_error(read(document)), "0 errors") << family << changes;
    }
}

TEST(ConfigTypes, ChecksTheTextPartOfAModelOfImagesToo) {
    auto text = usual("gemma3");
    text["head_dim"] = 8.0;
    const Json document{{"head_dim", 8}, {"model_type", "gemma3"}, {"text_config", text}};
    const auto config = read(document);
    EXPECT_EQ(only_error(config), "head_dim = 8.0 (a whole number is expected there)");
    EXPECT_EQ(config.reasons.front().line, 3 + line_of(text, "head_dim"));
    EXPECT_EQ(config.reasons.front().column, 5);
}

TEST(ConfigTypes, NamesTheLineOfTextThatIsNotJson) {
    const auto config =
        read_config_text("config.json", "{\n  \"model_type\": \"llama\",\n  \"hidden_size\": NaN\n}\n");
    ASSERT_EQ(config.reasons.size(), 1u);
    EXPECT_EQ(config.reasons.front().reason, "its text is not valid JSON here");
    EXPECT_EQ(config.reasons.front().line, 3);
    EXPECT_EQ(read_config_text("config.json", "{\"a\": 1e999}").reasons.front().reason,
              "a number in it is beyond the range of numbers");
}

}  // namespace
}  // namespace ziggurat::deck
