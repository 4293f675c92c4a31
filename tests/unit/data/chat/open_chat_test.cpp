#include "data/chat/open_chat.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "tests/unit/data/token_files.hpp"
#include "tests/unit/data/tokenizer_files.hpp"

namespace ziggurat::data {
namespace {

namespace fs = std::filesystem;

/// Records of texts, which need a tokenizer and no Python.
class SamplesOfRecords : public ::testing::Test {
  protected:
    SamplesOfRecords() {
        records_ = folder_.write("records.jsonl", "{\"text\": \"abc\"}\n{\"text\": \"de\"}\n");
        make_tokenizer("tokenizer");
        source_ = {.format = spec::TokenFormat::chat, .path = records_};
        data_.tokenizer = {.kind = spec::TokenizerKind::hf, .path = folder_ / "tokenizer", .hash = ""};
    }

    void make_tokenizer(const std::string& name) {
        fs::create_directory(folder_ / name);
        auto json = test::tokenizer_json({});
        json["added_tokens"] = {test::added_token(256, "<a>"), test::added_token(257, "<b>")};
        folder_.write(name + "/tokenizer.json", json.dump());
        folder_.write(name + "/tokenizer_config.json", R"({"eos_token": "<a>"})");
        folder_.write(name + "/chat_template.jinja", "{{ messages }}");
    }

    /// Returns the name of the samples; `made_` is set if they were encoded now.
    std::string samples() {
        made_ = false;
        const SampleFileReports reports{.begins =
                                            [&](const std::string&, const std::string&, bool has_others) {
                                                made_ = true;
                                                has_others_ = has_others;
                                            },
                                        .of_job = {}};
        return sample_files(data_, source_, "data.train[0].path", reports).at(0);
    }

    test::ScratchFolder folder_;
    std::string records_;
    spec::Data data_;
    spec::Source source_;
    bool made_ = false;
    bool has_others_ = false;
};

TEST_F(SamplesOfRecords, AreKept) {
    const auto first = samples();
    EXPECT_TRUE(made_ && !has_others_);
    EXPECT_EQ(samples(), first);
    EXPECT_FALSE(made_);
}

TEST_F(SamplesOfRecords, AreUsedWithTheSameTokenizerAtAnotherPath) {
    const auto first = samples();
    fs::rename(folder_ / "tokenizer", folder_ / "moved");
    data_.tokenizer.path = folder_ / "moved";
    EXPECT_EQ(samples(), first);
    EXPECT_FALSE(made_);
}

TEST_F(SamplesOfRecords, AreMadeAgainWhenAFileOfTheTokenizerIsReplaced) {
    for (const auto& [name, content] : {std::pair{"tokenizer_config.json", R"({"eos_token": "<b>"})"},
                                        std::pair{"special_tokens_map.json", R"({"bos_token": "<b>"})"},
                                        std::pair{"chat_template.jinja", "{{ messages[0] }}"}}) {
        const auto before = samples();
        folder_.write(std::string{"tokenizer/"} + name, content);
        EXPECT_NE(samples(), before) << name;
        EXPECT_TRUE(made_ && has_others_) << name;
    }
}

TEST_F(SamplesOfRecords, AreMadeAgainWhenRecordsOrLossOnDiffer) {
    const auto before = samples();
    source_.loss_on = spec::LossOn::all;
    EXPECT_NE(samples(), before);
    source_.loss_on = {};
    folder_.write("records.jsonl", "{\"text\": \"abd\"}\n{\"text\": \"de\"}\n");
    EXPECT_NE(samples(), before);
    EXPECT_TRUE(made_);
}

TEST_F(SamplesOfRecords, DependOnTheConfigurationWithARecordedHash) {
    data_.tokenizer.hash = hash_text(*open_tokenizer(data_.tokenizer));
    const auto before = samples();
    folder_.write("tokenizer/tokenizer_config.json", R"({"eos_token": "<b>"})");
    EXPECT_NE(samples(), before);
}

}  // namespace
}  // namespace ziggurat::data
