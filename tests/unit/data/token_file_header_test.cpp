#include "data/token_file_header.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <sstream>

#include "data/token_source.hpp"
#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

using test::ScratchFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Returns the files that decks/DATA.md lists byte by byte, by name.
std::map<std::string, std::string> files_of_the_page() {
    std::ifstream page{std::filesystem::path{std::getenv("PROJECT_SOURCE_DIR")} / "decks/DATA.md"};
    std::map<std::string, std::string> files;
    std::string* file = nullptr;
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with("```")) {
            file = line.starts_with("```hex ") ? &files[line.substr(7)] : nullptr;
        } else if (file != nullptr) {
            std::istringstream words{line.substr(0, line.find('#'))};
            std::string word;
            words >> word;
            file->resize(std::stoul(word, nullptr, 16), '\0');
            while (words >> word) {
                *file += static_cast<char>(std::stoi(word, nullptr, 16));
            }
        }
    }
    return files;
}

class TokenFilesOfThePage : public ::testing::Test {
  protected:
    TokenFilesOfThePage() : files_{files_of_the_page()} {
        for (const auto& [name, bytes] : files_) {
            folder_.write(name, bytes);
        }
    }

    std::vector<std::int32_t> trained_on(spec::TokenFormat format, const std::string& name) const {
        const auto source = open_source({.format = format, .path = folder_ / name}, "k");
        std::vector<std::int32_t> tokens(static_cast<std::size_t>(source->num_tokens()));
        source->read(0, tokens);
        return tokens;
    }

    std::map<std::string, std::string> files_;
    ScratchFolder folder_;
};

TEST_F(TokenFilesOfThePage, AreWhatATrainingReads) {
    ASSERT_EQ(files_.size(), 8U);
    EXPECT_THAT(trained_on(spec::TokenFormat::chat, "chats.samples"), ElementsAre(7, 8, 9, 10, 11));
    EXPECT_THAT(trained_on(spec::TokenFormat::chat, "pairs.samples"), ElementsAre(7, 8, 9, 7, 10, 11));
    EXPECT_EQ(
        open_source({.format = spec::TokenFormat::chat, .path = folder_ / "pairs.samples"}, "k")->num_pairs(),
        1);
    EXPECT_THAT(trained_on(spec::TokenFormat::text, "text.txt"), ElementsAre(73, 110, 32, 116, 104, 101));
    EXPECT_THAT(trained_on(spec::TokenFormat::llmc, "gpt2.bin"), ElementsAre(50256, 464, 10, 255));
    EXPECT_THAT(trained_on(spec::TokenFormat::llmc, "llama3.bin"), ElementsAre(128000, 42));
    EXPECT_THAT(trained_on(spec::TokenFormat::megatron, "corpus"), ElementsAre(7, 8, 9, 10, 11));
    EXPECT_THAT(trained_on(spec::TokenFormat::raw, "train.bin"), ElementsAre(50256, 464, 10, 255));
    const auto pair = open_source({.format = spec::TokenFormat::megatron, .path = folder_ / "corpus"}, "k");
    std::vector<std::uint8_t> starts(5);
    pair->mark_document_starts(0, starts);
    EXPECT_THAT(starts, ElementsAre(1, 0, 0, 1, 0));
}

TEST_F(TokenFilesOfThePage, AreShownByTheirHeads) {
    const auto text = read_token_file_header(folder_ / "text.txt");
    EXPECT_EQ(text.format, spec::TokenFormat::text);
    EXPECT_EQ(text.stored_tokens, 6);
    EXPECT_THAT(text.first, ElementsAre(73, 110, 32, 116, 104, 101));

    const auto gpt2 = read_token_file_header(folder_ / "gpt2.bin");
    EXPECT_EQ(gpt2.format, spec::TokenFormat::llmc);
    EXPECT_EQ(gpt2.magic, "20240520");
    EXPECT_EQ(gpt2.version, 1U);
    EXPECT_EQ(gpt2.tokens, 4);
    EXPECT_EQ(gpt2.stored_tokens, 4);
    EXPECT_EQ(gpt2.type, "uint16");
    EXPECT_EQ(gpt2.header_bytes, 1024);
    EXPECT_THAT(gpt2.first, ElementsAre(50256, 464, 10, 255));

    const auto llama3 = read_token_file_header(folder_ / "llama3.bin");
    EXPECT_EQ(llama3.version, 7U);
    EXPECT_EQ(llama3.type, "uint32");
    EXPECT_THAT(llama3.first, ElementsAre(128000, 42));

    const auto raw = read_token_file_header(folder_ / "train.bin");
    EXPECT_EQ(raw.format, spec::TokenFormat::raw);
    EXPECT_EQ(raw.magic, "");
    EXPECT_EQ(raw.type, "uint16");
    EXPECT_EQ(raw.header_bytes, 0);
    EXPECT_EQ(raw.stored_tokens, 4);
    EXPECT_THAT(raw.first, ElementsAre(50256, 464, 10, 255));

    for (const char* name : {"corpus", "corpus.idx", "corpus.bin"}) {
        const auto pair = read_token_file_header(folder_ / name);
        EXPECT_EQ(pair.format, spec::TokenFormat::megatron) << name;
        EXPECT_EQ(pair.documents, 2U);
        EXPECT_EQ(pair.sequences, 3U);
        EXPECT_EQ(pair.stored_tokens, 5);
        EXPECT_EQ(pair.problem, "");
        EXPECT_THAT(pair.first, ElementsAre(7, 8, 9, 10, 11));
        EXPECT_TRUE(is_token_path(folder_ / name));
    }
    for (const auto& head : {text, gpt2, llama3, raw}) {
        EXPECT_EQ(head.problem, "");
    }
}

TEST_F(TokenFilesOfThePage, AreNotWhatTheySayWhenTheyAreCut) {
    folder_.write("gpt2.bin", files_["gpt2.bin"].substr(0, 1028));
    const auto cut = read_token_file_header(folder_ / "gpt2.bin");
    EXPECT_EQ(cut.tokens, 4);
    EXPECT_EQ(cut.stored_tokens, 2);
    EXPECT_THAT(cut.first, ElementsAre(50256, 464));
    EXPECT_THAT(cut.problem, HasSubstr("its header counts 4 tokens of 2 bytes"));

    folder_.write("train.bin", files_["train.bin"] + "x");
    EXPECT_THAT(read_token_file_header(folder_ / "train.bin").problem,
                HasSubstr("9 bytes are not a multiple of 2"));

    folder_.write("corpus.bin", files_["corpus.bin"] + "x");
    EXPECT_THAT(read_token_file_header(folder_ / "corpus").problem,
                HasSubstr("its sequences end at byte 10"));
    for (std::size_t bytes = 1; bytes < files_["corpus.idx"].size(); ++bytes) {
        folder_.write("corpus.idx", files_["corpus.idx"].substr(0, bytes));
        EXPECT_NE(read_token_file_header(folder_ / "corpus").problem, "") << bytes;
    }
    for (std::size_t bytes = 4; bytes < 1032; bytes += 17) {
        folder_.write("gpt2.bin", files_["gpt2.bin"].substr(0, bytes));
        EXPECT_NE(read_token_file_header(folder_ / "gpt2.bin").problem, "") << bytes;
    }
}

TEST_F(TokenFilesOfThePage, AreToldFromOthers) {
    folder_.write("model.bin", test::little(std::int32_t{20240326}));
    EXPECT_THAT(test::deck_error_of([&] { read_token_file_header(folder_ / "model.bin"); }),
                HasSubstr("is not a token file (it is a model file of llm.c). Name files of tokens."));
    EXPECT_THAT(test::deck_error_of([&] { read_token_file_header(folder_ / "none.bin"); }),
                HasSubstr("No such file"));
    EXPECT_FALSE(is_token_path(folder_ / ""));
    EXPECT_FALSE(is_token_path(folder_ / "none"));
    EXPECT_TRUE(is_token_path(folder_ / "none.bin")) << "to be complained of as such";
}

}  // namespace
}  // namespace ziggurat::data
