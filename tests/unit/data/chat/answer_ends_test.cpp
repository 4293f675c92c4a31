/// Tokens that end answers: in sample files, by templates, in the files of a model.
#include "data/chat/answer_ends.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/data/sample_files.hpp"
#include "tests/unit/data/token_files.hpp"
#include "tests/unit/data/tokenizer_files.hpp"

namespace ziggurat::data {
namespace {

using test::added_token;
using test::TestSample;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int32_t turn_end = 256, document_end = 257, call_end = 258, blank = '\n';

class AnswerEnds : public ::testing::Test {
  protected:
    AnswerEnds() {
        auto json = test::tokenizer_json({});
        json["added_tokens"] = {added_token(turn_end, "<|end|>"), added_token(document_end, "</s>"),
                                added_token(call_end, "<call>")};
        tokenizer_ = open_tokenizer(folder_.write("tokenizer.json", json.dump()));
    }

    std::vector<std::int32_t> ends_of(const std::vector<TestSample>& samples,
                                      std::int32_t version = SampleFileHeader::conversations_version) {
        test::write_samples(folder_ / "a.samples", samples, tokenizer_->hash(), version);
        return trained_turn_ends(test::chat_data(folder_ / "a.samples", 8, spec::SamplePacking::none),
                                 *tokenizer_);
    }

    test::ScratchFolder folder_;
    std::unique_ptr<const TextTokenizer> tokenizer_;
};

TEST_F(AnswerEnds, AreTheLastCountedTokensOfTurns) {
    EXPECT_THAT(ends_of({{{'q', 'a', turn_end, blank, 'q', 'b', turn_end}, {0, 1, 1, 0, 0, 1, 1}},
                         {{'q', 'a', call_end, 'r', 'b', turn_end}, {0, 1, 1, 0, 1, 1}}}),
                ElementsAre(turn_end, call_end))
        << "the most frequent one first";
    EXPECT_THAT(ends_of({{{'q', 'a', turn_end, blank}, {0, 1, 1, 1}}}), ElementsAre(turn_end))
        << "white space follows";
    EXPECT_THAT(ends_of({{{'q', 'a', document_end}, {0, 1, 1}}}), ElementsAre(document_end));
    EXPECT_THAT(ends_of({{{'q', 'a', turn_end}, {0, 1, 0}}}), IsEmpty()) << "the model does not learn it";
}

TEST_F(AnswerEnds, OfPairsAreThoseOfChosenAnswers) {
    EXPECT_THAT(ends_of({{{'q', 'a', turn_end}, {0, 1, 1}}, {{'q', 'b', call_end}, {0, 1, 1}}},
                        SampleFileHeader::pairs_version),
                ElementsAre(turn_end));
}

TEST_F(AnswerEnds, OfAnotherTokenizerOrOfMissingFilesAreUnknown) {
    test::write_samples(folder_ / "b.samples", {{{'q', 'a', turn_end}, {0, 1, 1}}}, tokenizer_->hash() + 1);
    for (const char* name : {"b.samples", "gone.samples"}) {
        const auto data = test::chat_data(folder_ / name, 8, spec::SamplePacking::none);
        EXPECT_THAT(trained_turn_ends(data, *tokenizer_), IsEmpty()) << name;
    }
}

TEST_F(AnswerEnds, AreThoseOfTheModelsFiles) {
    EXPECT_THAT(configured_ends(folder_ / "tokenizer.json", 300), IsEmpty());
    folder_.write("config.json", R"({"eos_token_id": [3, 9000]})");
    EXPECT_THAT(configured_ends(folder_ / "tokenizer.json", 300), ElementsAre(3));
    folder_.write("generation_config.json", R"({"eos_token_id": 5})");
    EXPECT_THAT(configured_ends(folder_ / "tokenizer.json", 300), ElementsAre(5)) << "it comes first";
    folder_.write("generation_config.json", R"({"top_k": 5})");
    EXPECT_THAT(configured_ends(folder_ / "tokenizer.json", 300), IsEmpty()) << "as transformers reads it";
}

}  // namespace
}  // namespace ziggurat::data
