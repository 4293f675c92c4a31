/// `check` accepts a file named in a deck if and only if a training can open it, with the same message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "app/start/token_sources.hpp"
#include "base/error.hpp"
#include "data/token_source.hpp"
#include "deck/load.hpp"
#include "spec/token_format.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::app {
namespace {

using ::testing::HasSubstr;

template <class T>
std::string little(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

/// Three sequences of 20 tokens of 16 bits in two documents.
std::string megatron_index() {
    std::string index{"MMIDIDX\0\0", 9};
    index += little(std::uint64_t{1}) + little(std::uint8_t{8}) + little(std::uint64_t{3}) +
             little(std::uint64_t{3});
    for (int i = 0; i < 3; ++i) {
        index += little(std::int32_t{20});
    }
    for (const std::int64_t begin : {0, 40, 80}) {
        index += little(begin);
    }
    for (const std::int64_t document : {0, 1, 3}) {
        index += little(document);
    }
    return index;
}

std::string llmc_file() {
    std::string bytes = little(std::int32_t{20240520}) + little(std::int32_t{1}) + little(std::int32_t{60});
    bytes.resize(1024 + 120, '\0');
    return bytes;
}

class OneReader : public ::testing::Test {
  protected:
    void write(const std::string& name, const std::string& bytes) const {
        std::ofstream{folder_.file(name), std::ios::binary} << bytes;
    }

    deck::LoadedDeck load(const std::string& source, bool needs_data = true) const {
        deck::LoadOptions options{.ranks = 1, .threads = 1, .needs_data = needs_data};
        options.read_source = read_source;
        options.find_train_validation_overlap = find_train_validation_overlap;
        return deck::load_text(
            "deck_version: 1\n"
            "model: {family: gpt2, layers: 2, hidden: 32, heads: 2, vocab: 300}\n"
            "data: {seq: 16, tokenizer: none, train: [" +
                source +
                "]}\n"
                "train: {steps: 10, global_batch: 8, micro_batch: 2}\n",
            "deck", {}, options);
    }

    /// Returns the error of a training; empty if it opens the source.
    static std::string printed_by_training(const spec::Source& source) {
        try {
            data::open_source(source, "data.train[0].path");
            return "";
        } catch (const Error& error) {
            return error.what();
        }
    }

    /// Returns true if both refuse the source with the same message.
    bool are_refused(const spec::Source& source) const {
        const std::string by_training = printed_by_training(source);
        const auto loaded =
            load("{format: " + std::string{spec::word_of(source.format)} + ", path: '" + source.path +
                 (source.format == spec::TokenFormat::raw ? "', dtype: uint16}" : "'}"));
        EXPECT_EQ(loaded.ok(), by_training.empty()) << by_training << loaded.found.print();
        if (!loaded.ok()) {
            EXPECT_EQ(loaded.found.sorted().size(), 1U) << loaded.found.print();
            EXPECT_EQ("data.train[0].path: " + loaded.found.sorted().front().sentence(), by_training);
            EXPECT_EQ(loaded.found.sorted().front().at.line, 3);
        }
        return !by_training.empty();
    }

    test::ScratchFolder folder_;
};

TEST_F(OneReader, RefusesMegatronPairsWithAnyByteChangedAsATrainingDoes) {
    const spec::Source pair{.format = spec::TokenFormat::megatron, .path = folder_.file("x")};
    const auto index = megatron_index();
    write("x.bin", std::string(120, '\1'));
    write("x.idx", index);
    EXPECT_FALSE(are_refused(pair));
    for (std::size_t at = 0; at < index.size(); ++at) {
        auto changed = index;
        changed[at] = static_cast<char>(changed[at] ^ 0x80);
        write("x.idx", changed);
        EXPECT_TRUE(are_refused(pair)) << "byte " << at;
    }
    for (std::size_t bytes = 0; bytes < index.size(); ++bytes) {
        write("x.idx", index.substr(0, bytes));
        EXPECT_TRUE(are_refused(pair)) << bytes << " bytes";
    }
    write("x.idx", index);
    for (const std::size_t bytes : {0U, 1U, 119U, 121U, 240U}) {
        write("x.bin", std::string(bytes, '\1'));
        EXPECT_TRUE(are_refused(pair)) << bytes << " bytes of tokens";
    }
}

TEST_F(OneReader, RefusesFilesOfLlmcAsATrainingDoes) {
    const spec::Source source{.format = spec::TokenFormat::llmc, .path = folder_.file("x")};
    const auto good = llmc_file();
    write("x", good);
    EXPECT_FALSE(are_refused(source));
    for (std::size_t at = 0; at < 12; ++at) {
        auto changed = good;
        changed[at] = static_cast<char>(changed[at] ^ 0x80);
        write("x", changed);
        EXPECT_TRUE(are_refused(source)) << "byte " << at;
    }
    for (const std::size_t bytes : {0U, 3U, 12U, 1023U, 1024U, 1143U}) {
        write("x", good.substr(0, bytes));
        EXPECT_TRUE(are_refused(source)) << bytes << " bytes";
    }
}

TEST_F(OneReader, RefusesRawFilesAsATrainingDoes) {
    const spec::Source source{.format = spec::TokenFormat::raw, .path = folder_.file("x")};
    for (const std::size_t bytes : {120U, 121U, 0U}) {
        write("x", std::string(bytes, '\1'));
        EXPECT_EQ(are_refused(source), bytes != 120) << bytes;
    }
    write("x", llmc_file());
    EXPECT_TRUE(are_refused(source));
}

TEST_F(OneReader, RefusesForAPlanTooWhatIsThereAndForeign) {
    write("x", "no tokens");
    EXPECT_FALSE(load("{format: llmc, path: " + folder_.file("x") + "}", false).ok());
    EXPECT_TRUE(load("{format: llmc, path: " + folder_.file("y") + "}", false).ok());
}

TEST_F(OneReader, FindsCopiesOfWhatIsTrainedOn) {
    write("x", llmc_file());
    write("y", llmc_file());
    const auto loaded = load("{format: llmc, path: " + folder_.file("x") +
                             "}], validation: [{format: llmc, path: " + folder_.file("y") + "}");
    EXPECT_TRUE(loaded.ok());
    EXPECT_THAT(loaded.found.print(), HasSubstr("y' is validated and trained on ("));
    EXPECT_THAT(loaded.found.print(), HasSubstr("x' of data.train[0] has the same bytes)"));
}

}  // namespace
}  // namespace ziggurat::app
