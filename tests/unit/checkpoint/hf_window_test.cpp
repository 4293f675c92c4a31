/// Windows of attention in config.json: written by an export, read by an import.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"
#include "checkpoint/hf/config_text.hpp"
#include "deck/files/hf_config.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

using Json = nlohmann::json;

spec::Model model_with(const char* family, std::int64_t window, std::int64_t interval = 0) {
    spec::Model model;
    model.family = family;
    model.layers = 4;
    model.hidden = 30;
    model.heads = 5;
    model.head_dim = 6;
    model.kv_heads = 1;
    model.ffn_hidden = 44;
    model.vocab = 37;
    model.vocab_padded = 128;
    model.max_seq = 11;
    model.window = window;
    model.full_attention_interval = interval;
    return model;
}

/// Values that config.json gives the two keys, or the first error.
struct Read {
    std::string window, interval, problem;
};

Read read(const Json& document) {
    const test::ScratchFolder folder;
    std::ofstream{folder.file("config.json")} << document.dump(2);
    const auto config = deck::read_published_config(folder.path());
    std::map<std::string, std::string> values;
    for (const auto& value : config.values) {
        values[value.deck_key] = value.text;
    }
    return {values["model.window"], values["model.full_attention_interval"],
            config.reasons.empty() ? "" : config.reasons.front().problem};
}

Json written(const spec::Model& model) {
    return Json::parse(config_text(model, spec::DType::f32));
}

TEST(HfWindow, IsReadAsItIsWritten) {
    for (const char* family : {"mistral", "qwen2", "phi3", "gemma2", "gemma3"}) {
        for (const std::int64_t window : {0, 8}) {
            const auto found = read(written(model_with(family, window)));
            EXPECT_EQ(found.problem, "") << family;
            EXPECT_EQ(found.window, window > 0 ? "8" : "none") << family;
            EXPECT_EQ(found.interval, "none") << family;
        }
    }
    for (const char* family : {"qwen2", "gemma2", "gemma3"}) {
        for (const std::int64_t interval : {2, 3, 4}) {
            const auto found = read(written(model_with(family, 8, interval)));
            EXPECT_EQ(found.problem, "");
            EXPECT_EQ(found.window, "8");
            EXPECT_EQ(found.interval, std::to_string(interval));
        }
    }
    EXPECT_EQ(read(written(model_with("qwen2", 8, 5))).interval, "none") << "no layer is without a window";
}

TEST(HfWindow, OfGemma3ComesFromItsListElseFromItsPattern) {
    auto model = model_with("gemma3", 8, 2);
    model.window_rope_theta = 500;
    model.attention_scale = 1 / std::sqrt(7.0);
    auto document = written(model);
    EXPECT_EQ(document.at("rope_local_base_freq"), 500);
    EXPECT_EQ(document.at("query_pre_attn_scalar"), 7);
    document["sliding_window_pattern"] = 3;
    EXPECT_EQ(read(document).interval, "2") << "the list has precedence";
    document.erase("layer_types");
    EXPECT_EQ(read(document).interval, "3");
    document.erase("sliding_window_pattern");
    EXPECT_EQ(read(document).interval, "6");
    document["sliding_window_pattern"] = 0;
    EXPECT_EQ(read(document).problem, "sliding_window_pattern = 0 is not implemented");
    document["sliding_window_pattern"] = 1;
    EXPECT_EQ(read(document).window, "none");
    EXPECT_EQ(written(model_with("gemma3", 0)).at("layer_types"), Json(4, "full_attention"));
}

TEST(HfWindow, OfGemma2ComesFromItsListElseItIsInEveryOtherLayer) {
    auto document = written(model_with("gemma2", 8, 3));
    EXPECT_EQ(read(document).interval, "3") << "the list has precedence";
    document.erase("layer_types");
    EXPECT_EQ(read(document).interval, "2");
    document["sliding_window_pattern"] = 5;
    EXPECT_EQ(read(document).interval, "2") << "its class does not read this key";
}

TEST(HfWindow, IsWrittenWithTheKeysOfTheClass) {
    const auto qwen2 = written(model_with("qwen2", 8, 2));
    EXPECT_EQ(qwen2.at("sliding_window"), 8);
    EXPECT_EQ(qwen2.at("use_sliding_window"), true);
    EXPECT_EQ(qwen2.at("max_window_layers"), 0);
    EXPECT_EQ(qwen2.at("layer_types"), Json::parse(R"(["sliding_attention", "full_attention",
                                                       "sliding_attention", "full_attention"])"));
    const auto without = written(model_with("qwen2", 0));
    EXPECT_EQ(without.at("use_sliding_window"), false);
    EXPECT_EQ(without.at("max_window_layers"), 4);
    EXPECT_FALSE(without.contains("layer_types"));
    EXPECT_EQ(written(model_with("mistral", 8)).at("sliding_window"), 8);
    EXPECT_FALSE(written(model_with("mistral", 8)).contains("use_sliding_window"));
    try {
        config_text(model_with("mistral", 8, 2), spec::DType::f32);
        ADD_FAILURE() << "its class has one window for all layers";
    } catch (const Error& error) {
        EXPECT_NE(std::string{error.what()}.find("model.full_attention_interval = 2"), std::string::npos)
            << error.what();
    }
}

TEST(HfWindow, NeedsItsSwitchAndItsLayers) {
    const auto changed = [](const char* family, const Json& changes) {
        auto document = written(model_with(family, 8));
        for (const auto& [key, value] : changes.items()) {
            document[key] = value;
        }
        return read(document);
    };
    EXPECT_EQ(changed("qwen2", {{"use_sliding_window", false}}).window, "none");
    EXPECT_EQ(changed("qwen2", {{"use_sliding_window", nullptr}}).problem, "use_sliding_window = null");
    EXPECT_EQ(changed("qwen2", {{"max_window_layers", 4}}).window, "none");
    EXPECT_EQ(changed("qwen2", {{"max_window_layers", nullptr}}).problem, "max_window_layers = null");
    EXPECT_EQ(changed("qwen2", {{"max_window_layers", 3}}).problem,
              "max_window_layers = 3 is not implemented");
    EXPECT_EQ(changed("qwen2", {{"sliding_window", nullptr}}).window, "none");
    EXPECT_EQ(changed("mistral", {{"sliding_window", nullptr}}).window, "none");

    const auto of_types = [&](const char* family, const std::string& letters) {
        auto types = Json::array();
        for (const char letter : letters) {
            types.push_back(letter == 's' ? "sliding_attention" : "full_attention");
        }
        return changed(family, {{"layer_types", types}});
    };
    EXPECT_EQ(of_types("qwen2", "ffff").window, "none");
    EXPECT_EQ(of_types("qwen2", "ssss").window, "8");
    EXPECT_EQ(of_types("qwen2", "ssss").interval, "none");
    EXPECT_EQ(of_types("qwen2", "sfsf").interval, "2");
    EXPECT_EQ(of_types("qwen2", "sssf").interval, "4");
    EXPECT_EQ(of_types("mistral", "ssss").window, "8");
    for (const char* letters : {"fsss", "ffss", "sffs", "ssff", "fsfs"}) {
        EXPECT_EQ(of_types("qwen2", letters).problem.substr(0, 11), "layer_types") << letters;
        EXPECT_EQ(of_types("mistral", letters).problem.substr(0, 11), "layer_types") << letters;
        EXPECT_EQ(of_types("llama", letters).problem.substr(0, 11), "layer_types") << letters;
    }
    EXPECT_EQ(of_types("mistral", "sfsf").problem.substr(0, 11), "layer_types")
        << "the class ignores the list";
}

}  // namespace
}  // namespace ziggurat::checkpoint::hf
