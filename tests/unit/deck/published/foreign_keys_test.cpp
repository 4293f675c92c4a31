/// Errors of all rules about values from config.json name its keys.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "deck/files/json_keys.hpp"
#include "tests/unit/deck/load_fixture.hpp"

namespace ziggurat::deck {
namespace {

using Json = nlohmann::json;

class ForeignKeys : public Load {
  protected:
    /// Returns the messages about a model with these changes in its config.json.
    std::string messages(const Json& changes, const std::vector<std::string>& overrides = {}) const {
        Json document{
            {"model_type", "llama"},    {"hidden_size", 32},        {"num_hidden_layers", 2},
            {"num_attention_heads", 4}, {"num_key_value_heads", 2}, {"head_dim", 8},
            {"intermediate_size", 48},  {"vocab_size", 300},        {"max_position_embeddings", 64}};
        document.update(changes);
        std::filesystem::create_directories(folder_ / "m");
        write("m/config.json", document.dump(2));
        auto all = overrides;
        all.push_back("model={init: {from: hf, path: '" + (folder_ / "m").string() + "'}}");
        return load_base("", all).found.print();
    }

    std::string file() const { return (folder_ / "m" / "config.json").string(); }
};

void expect_has(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST_F(ForeignKeys, AreNamedByRulesAboutTheModel) {
    expect_has(messages({{"num_key_value_heads", 3}}),
               file() +
                   ":9:3: model.kv_heads = 3 does not divide model.heads = 4 (each head of keys "
                   "serves the same number of query heads; model.heads is num_attention_heads in line 7; "
                   "model.kv_heads is num_key_value_heads). Use 1, 2 or 4.");
    expect_has(messages({{"head_dim", 7}}), "model.heads is num_attention_heads");
}

TEST_F(ForeignKeys, AreNamedIfAValueIsOutOfRange) {
    expect_has(messages({{"hidden_size", -32}}), file() + ":3:3: model.hidden = '-32' is out of range");
    expect_has(messages({{"hidden_size", -32}}), "; model.hidden is hidden_size). Use a value");
    expect_has(messages({{"hidden_size", -32}}),
               "Correct it in this file, or fetch or export the model again.");
}

TEST_F(ForeignKeys, AreNamedInErrorsAboutTheDeck) {
    expect_has(messages(Json::object(), {"data.seq=128"}),
               "data.seq = 128 is longer than model.max_seq = 64 (the model has no positions beyond max_seq; "
               "model.max_seq is max_position_embeddings in line 5 of '" +
                   file() + "')");
    expect_has(messages({{"vocab_size", 200}}, {"data.tokenizer=bytes"}),
               "model.vocab is vocab_size in line 10 of '" + file() + "'). Use the tokenizer of the model.");
}

TEST_F(ForeignKeys, AreNamedIfTheFileDoesNotHaveThem) {
    Json changes{{"num_attention_heads", 64}};
    changes["head_dim"] = nullptr;
    changes["hidden_size"] = 64;
    changes["model_type"] = "qwen2";
    changes["num_key_value_heads"] = 5;
    expect_has(messages(changes), "model.kv_heads is num_key_value_heads");
    changes = Json{{"model_type", "mistral"},
                   {"num_attention_heads", 4},
                   {"num_key_value_heads", 2},
                   {"sliding_window", 0}};
    expect_has(messages(changes), "model.window is sliding_window");
}

TEST(JsonKeys, HaveLinesAndColumnsByTheirPaths) {
    const auto keys = json_keys(
        "{\"a\": 1,\n  \"b\": {\"a\" : [\"x\", {\"c\": 1}],\n\"d\\\"e\": \"\\\"f\\\": \"},\n \"a\": 2}");
    ASSERT_EQ(keys.size(), 4u);
    EXPECT_EQ(keys.at("a").line, 4);
    EXPECT_EQ(keys.at("a").column, 2);
    EXPECT_EQ(keys.at("b").line, 2);
    EXPECT_EQ(keys.at("b.a").column, 9);
    EXPECT_EQ(keys.at("b.d\"e").line, 3);
    EXPECT_TRUE(json_keys("").empty());
    EXPECT_TRUE(json_keys("{\"a").empty());
}

}  // namespace
}  // namespace ziggurat::deck
