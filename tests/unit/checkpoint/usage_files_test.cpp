/// Special tokens and generation settings of exported models.
#include "checkpoint/hf/usage_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "checkpoint/hf/config_text.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

class UsageFiles : public ::testing::Test {
  protected:
    void write(const std::string& name, const Json& content) {
        std::ofstream{folder_.file(name)} << content.dump();
    }
    Json read(const std::string& name) const { return Json::parse(test::contents_of(folder_.file(name))); }
    AddedEnds add(const std::vector<TokenText>& ends, bool keeps_eos_token = false) {
        return add_answer_ends(folder_.path(), usage_, ends, keeps_eos_token);
    }

    test::ScratchFolder folder_;
    std::string usage_ = R"({"bos_token_id": 1, "eos_token_id": 0, "pad_token_id": null, "top_p": 0.5,
                             "tokenizer_class": "X"})";
    const std::vector<TokenText> turn_end_{{7, "<|im_end|>"}};
};

TEST_F(UsageFiles, EndsOfAnswersComeBeforeThoseOfTheBase) {
    EXPECT_EQ(add(turn_end_).ends.size(), 1);
    EXPECT_EQ(read("generation_config.json"),
              Json::parse(R"({"bos_token_id": 1, "eos_token_id": [7, 0], "top_p": 0.5})"))
        << "the settings that transformers would have taken from config.json";
    EXPECT_TRUE(add(turn_end_).ends.empty()) << "it is there now";
}

TEST_F(UsageFiles, EndsOfAnswersAreAddedToTheFileOfTheModel) {
    write("generation_config.json", {{"eos_token_id", {3, 5}}, {"top_k", 9}});
    EXPECT_EQ(add({{7, "a"}, {5, "b"}, {8, "c"}}).ends.size(), 2);
    EXPECT_EQ(read("generation_config.json"), Json({{"eos_token_id", {7, 8, 3, 5}}, {"top_k", 9}}));
    write("generation_config.json", {{"top_k", 9}});
    add(turn_end_);
    EXPECT_EQ(read("generation_config.json")["eos_token_id"], 7) << "one id is not a list";
}

TEST_F(UsageFiles, TheTokenizerEndsWithTheFirstOfThem) {
    write("tokenizer_config.json", {{"eos_token", {{"content", "</s>"}, {"lstrip", false}}}, {"x", 1}});
    write("special_tokens_map.json", {{"eos_token", "</s>"}});
    EXPECT_EQ(add(turn_end_, true).eos_token, "") << "it is kept if a template prints it";
    write("generation_config.json", Json::object());
    const auto added = add(turn_end_);
    EXPECT_EQ(added.eos_token, "<|im_end|>");
    EXPECT_EQ(added.eos_token_before, "</s>");
    EXPECT_EQ(read("tokenizer_config.json"), Json({{"eos_token", "<|im_end|>"}, {"x", 1}}));
    EXPECT_EQ(read("special_tokens_map.json")["eos_token"], "<|im_end|>");
}

TEST_F(UsageFiles, ATokenizerWithoutConfigurationGetsOne) {
    write_tokenizer_config(folder_.path(), turn_end_.front(), std::nullopt);
    EXPECT_EQ(test::contents_of(folder_.file("tokenizer_config.json")), "") << "there is no tokenizer.json";
    write("tokenizer.json", Json::object());
    write_tokenizer_config(folder_.path(), turn_end_.front(), std::nullopt);
    EXPECT_EQ(read("tokenizer_config.json")["tokenizer_class"], "PreTrainedTokenizerFast");
    EXPECT_EQ(read("tokenizer_config.json")["eos_token"], "<|im_end|>");
    write_tokenizer_config(folder_.path(), TokenText{1, "other"}, std::nullopt);
    EXPECT_EQ(read("tokenizer_config.json")["eos_token"], "<|im_end|>") << "an existing file stays";
}

spec::Model model_of(const char* family) {
    spec::Model model;
    model.family = family;
    model.layers = 2;
    model.hidden = 32;
    model.heads = 4;
    model.kv_heads = 4;
    model.head_dim = 8;
    model.ffn_hidden = 48;
    model.vocab = 20;
    model.max_seq = 16;
    model.attention_scale = model.usual_attention_scale();
    return model;
}

Json config(const spec::Model& model, const std::string& usage = "{}") {
    return Json::parse(config_text(model, spec::DType::f32, usage));
}

TEST(ConfigText, HasNoSpecialTokensOutsideTheVocabulary) {
    const auto written =
        config(model_of("phi3"), R"({"bos_token_id": 19, "eos_token_id": 20, "pad_token_id": 32000})");
    EXPECT_EQ(written["bos_token_id"], 19);
    EXPECT_TRUE(written["eos_token_id"].is_null());
    EXPECT_TRUE(written["pad_token_id"].is_null());
    EXPECT_EQ(config(model_of("llama"), R"({"pad_token_id": -1})")["pad_token_id"], -1) << "the last token";
    EXPECT_TRUE(config(model_of("smollm3"))["pad_token_id"].is_null()) << "its class would have 128004";
    EXPECT_FALSE(config(model_of("llama")).contains("pad_token_id"));
    for (const char* name : {"bos_token_id", "eos_token_id", "pad_token_id"}) {
        EXPECT_TRUE(Json::parse(usage_keys_of(-1)).contains(name)) << "a missing key has the class's default";
    }
}

TEST(ConfigText, HasWholeNumbersWhereTheClassDoes) {
    for (const char* family : {"gemma2", "gemma3"}) {
        auto model = model_of(family);
        EXPECT_TRUE(config(model)["query_pre_attn_scalar"].is_number_integer());
        EXPECT_EQ(config(model)["sliding_window"], 4096) << "null would not load";
        model.attention_scale = 1 / std::sqrt(24.0);
        EXPECT_EQ(config(model)["query_pre_attn_scalar"], 24);
        model.attention_scale = 0.3;
        try {
            config(model);
            ADD_FAILURE() << "11.1 is written";
        } catch (const Error& error) {
            EXPECT_THAT(error.what(), HasSubstr("model.attention_scale = 0.3"));
            EXPECT_THAT(error.what(), HasSubstr("Train with model.attention_scale: 0.3015"));
        }
    }
}

}  // namespace
}  // namespace ziggurat::checkpoint::hf
