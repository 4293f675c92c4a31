#include "data/chat/open_chat.hpp"

#include <gtest/gtest.h>

#include <gmock/gmock.h>

#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "data/fingerprint.hpp"
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
        options_.begins = [&](const SamplesToMake& made) {
            made_ = true;
            has_others_ = made.has_others;
            reason_ = made.reason;
        };
        return sample_files(data_, source_, "data.train[0].path", options_).at(0).file().path();
    }

    /// Returns the names of files that begin as the records, except them.
    std::set<std::string> files_of_records() const {
        std::set<std::string> names;
        for (const auto& entry : fs::directory_iterator{folder_ / "."}) {
            const auto name = entry.path().filename().string();
            if (name.starts_with("records.jsonl.")) {
                names.insert(name);
            }
        }
        return names;
    }

    test::ScratchFolder folder_;
    std::string records_;
    spec::Data data_;
    spec::Source source_;
    SampleFileOptions options_;
    std::string reason_;
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

TEST_F(SamplesOfRecords, AreMadeAgainWhenTheyAreDamaged) {
    const auto path = samples();
    const auto whole = test::contents_of(path);
    const auto name = fs::path{path}.filename().string();
    // Tokens, flags, the header, the key, the hash, a part that is missing, more bytes, and no seal.
    std::vector<std::string> damaged;
    for (const std::size_t at : {std::size_t{64}, std::size_t{67}, std::size_t{12}, std::size_t{32},
                                 whole.size() - 16, whole.size() - 1}) {
        damaged.push_back(whole);
        damaged.back()[at] ^= 1;
    }
    damaged.push_back(whole.substr(0, whole.size() / 2));
    damaged.push_back(whole.substr(0, whole.size() - 1));
    damaged.push_back(whole.substr(0, whole.size() - 16));
    damaged.push_back(whole + "x");
    damaged.emplace_back("text");
    damaged.emplace_back();
    for (const auto& bytes : damaged) {
        folder_.write(name, bytes);
        EXPECT_EQ(samples(), path);
        EXPECT_TRUE(made_);
        EXPECT_THAT(reason_, ::testing::HasSubstr("is not used: it "));
        EXPECT_EQ(test::contents_of(path), whole);
    }
    EXPECT_EQ(samples(), path);
    EXPECT_FALSE(made_);
}

TEST_F(SamplesOfRecords, AreMadeAgainWhenTheFileIsThatOfOtherRecords) {
    const auto path = samples();
    const auto whole = test::contents_of(path);
    folder_.write("records.jsonl", "{\"text\": \"other\"}\n");
    const auto other = samples();
    fs::copy_file(path, other, fs::copy_options::overwrite_existing);
    EXPECT_EQ(samples(), other);
    EXPECT_THAT(reason_, ::testing::HasSubstr("made from other records"));
    EXPECT_NE(test::contents_of(other), whole);
}

TEST_F(SamplesOfRecords, AreInNoFolderIfTheyAreNotKept) {
    options_.keeps = false;
    const auto name = samples();
    EXPECT_TRUE(made_ && files_of_records().empty());
    EXPECT_EQ(samples(), name) << "the name that a training gives them";
    EXPECT_FALSE(made_) << "this process has them";
    EXPECT_EQ(open_chat(data_, source_, "key")->num_samples(), 2);
    EXPECT_TRUE(files_of_records().empty());
}

TEST_F(SamplesOfRecords, AreInTheOtherFolderIfTheirOwnCannotBeWritten) {
    // No user can create the samples: their name is too long.
    const auto name = std::string(240, 'r') + ".jsonl";
    source_.path = folder_.write(name, test::contents_of(records_));
    EXPECT_THROW(samples(), Error);
    options_.other_folder = folder_ / "runs/one";
    const auto path = samples();
    EXPECT_TRUE(path.starts_with(options_.other_folder)) << path;
    EXPECT_THAT(reason_, ::testing::HasSubstr("cannot write"));
    EXPECT_EQ(samples(), path);
    EXPECT_FALSE(made_);
    folder_.write("runs/one/" + fs::path{path}.filename().string(), "damaged");
    EXPECT_EQ(samples(), path);
    EXPECT_TRUE(made_);
    data_.tokenizer.hash = hash_text(*open_tokenizer(data_.tokenizer));
    EXPECT_EQ(existing_sample_files(data_, source_, options_.other_folder).size(), 1u);
    EXPECT_TRUE(existing_sample_files(data_, source_).empty());
}

TEST_F(SamplesOfRecords, RemoveTheFilesOfKilledProcesses) {
    folder_.write("records.jsonl.0123456789abcdef.samples.host-1.tmp", "x");
    const auto path = samples();
    EXPECT_EQ(files_of_records(), std::set<std::string>{fs::path{path}.filename().string()});
}

TEST_F(SamplesOfRecords, AreNoOtherDataThanThoseWithoutAHash) {
    const ChatSource source{{samples()}, "key"};
    const auto whole = test::contents_of(source.files().front().file->path());
    const auto path = folder_.write("old.samples", whole.substr(0, whole.size() - sizeof(SampleSeal)));
    const ChatSource old{{path}, "key"};
    const auto one = fingerprint({"key", source.files().front()}, 1);
    const auto other = fingerprint({"key", old.files().front()}, 1);
    EXPECT_TRUE(one.is_of_same_bytes(other)) << "a run of an earlier version resumes";
}

}  // namespace
}  // namespace ziggurat::data
