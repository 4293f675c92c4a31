#include "data/samples/check_samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>

#include "tests/unit/data/sample_files.hpp"
#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

using test::deck_error_of;
using test::ScratchFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::vector<test::TestSample> two_samples{{{1, 2, 3}, {0, 1, 1}}, {{4, 5}, {0, 1}}};

/// Returns the error of opening and checking a file with these bytes; empty if they succeed.
std::string error_of(const ScratchFolder& folder, const std::string& bytes) {
    const auto path = folder.write("a.samples", bytes);
    return deck_error_of([&] {
        check_samples(SampleFile{path, "data.train[0].path"}, "data.train[0].path");
    });
}

template <class T>
std::string with(std::string bytes, std::size_t offset, T value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
    return bytes;
}

std::string bytes_of(const std::vector<test::TestSample>& samples,
                     std::int32_t version = SampleFileHeader::conversations_version,
                     std::uint64_t tokenizer_hash = 0) {
    const ScratchFolder folder;
    test::write_samples(folder / "a", samples, tokenizer_hash, version);
    return test::contents_of(folder / "a");
}

/// Returns the problem of a pair. A negative number is a token with a flag.
std::string problem_of(const std::vector<std::int32_t>& chosen,
                       const std::vector<std::int32_t>& rejected,
                       bool may_merge = false) {
    const auto stored = [](const std::vector<std::int32_t>& tokens) {
        std::vector<std::uint32_t> words;
        for (const auto token : tokens) {
            words.push_back(token < 0 ? static_cast<std::uint32_t>(-token) | SampleFile::counts_bit
                                      : static_cast<std::uint32_t>(token));
        }
        return words;
    };
    return pair_problem(stored(chosen), stored(rejected), may_merge);
}

TEST(CheckSamples, AcceptsWhatItsWriterMakes) {
    const ScratchFolder folder;
    EXPECT_EQ(error_of(folder, bytes_of(two_samples)), "");
    EXPECT_EQ(error_of(folder, bytes_of({{{7, 8, 9}, {0, 1, 1}}, {{7, 10, 11}, {0, 0, 1}}},
                                        SampleFileHeader::pairs_version)),
              "");
}

TEST(CheckSamples, RejectsNumbersOfFlagsThatAreNotThoseOfTheTokens) {
    const ScratchFolder folder;
    const auto whole = bytes_of(two_samples);
    constexpr std::size_t counted = 32;
    for (const std::int64_t number :
         {std::int64_t{-7}, std::int64_t{6}, std::int64_t{1} << 60, std::numeric_limits<std::int64_t>::min(),
          std::numeric_limits<std::int64_t>::max()}) {
        EXPECT_THAT(error_of(folder, with(whole, counted, number)),
                    AllOf(HasSubstr("data.train[0].path: '"), HasSubstr("a.samples"), HasSubstr("byte 32"),
                          HasSubstr(std::to_string(number) + " of 5 tokens")));
    }
    EXPECT_THAT(error_of(folder, with(whole, counted, std::int64_t{2})),
                HasSubstr("2, but 3 tokens have it"));
    auto flag = whole;
    flag[64 + 3] = static_cast<char>(0x80);
    EXPECT_THAT(error_of(folder, flag), HasSubstr("3, but 4 tokens have it"));
}

TEST(CheckSamples, RejectsUnknownTokensThatCount) {
    const ScratchFolder folder;
    for (const std::int32_t loss_on : {3, -1, std::numeric_limits<std::int32_t>::min()}) {
        EXPECT_THAT(error_of(folder, with(bytes_of(two_samples), 12, loss_on)),
                    HasSubstr("byte 12, the tokens that count in the loss: " + std::to_string(loss_on)));
    }
    EXPECT_EQ(error_of(folder, with(bytes_of(two_samples), 12, std::int32_t{2})), "");
}

TEST(CheckSamples, RejectsBeginsAndSizesOutsideTheFile) {
    const ScratchFolder folder;
    const auto whole = bytes_of(two_samples);
    for (const std::int64_t begin :
         {std::int64_t{-1}, std::int64_t{1}, std::int64_t{4}, std::int64_t{5},
          std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
        EXPECT_THAT(error_of(folder, with(whole, whole.size() - 16, begin)), HasSubstr(" begins at token "))
            << begin;
    }
    for (const std::int64_t number :
         {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1} << 62, std::numeric_limits<std::int64_t>::min(),
          std::numeric_limits<std::int64_t>::max()}) {
        EXPECT_THAT(error_of(folder, with(whole, 16, number)), HasSubstr("does not match its")) << number;
        EXPECT_THAT(error_of(folder, with(whole, 24, number)), HasSubstr("does not match its")) << number;
    }
    EXPECT_THAT(error_of(folder, whole.substr(0, 64)), HasSubstr("does not match its"));
}

TEST(CheckSamples, RejectsBytesAtTheEndThatAreNotTheHash) {
    const ScratchFolder folder;
    EXPECT_THAT(error_of(folder, bytes_of(two_samples) + std::string(16, 'x')),
                HasSubstr("the hash at its end is not that of its content"));
}

TEST(CheckSamples, NamesPairsThatAreNone) {
    const ScratchFolder folder;
    const auto bytes = bytes_of({{{7, 8}, {0, 1}}, {{7, 9}, {0, 1}}, {{7, 8}, {0, 1}}, {{6, 9}, {0, 1}}},
                                SampleFileHeader::pairs_version);
    EXPECT_THAT(
        error_of(folder, bytes),
        HasSubstr("pair 1, samples 2 and 3, bytes 80 to 96: the prompts differ: token 0 is 7 with the "
                  "chosen answer and 6 with the rejected one"));
}

TEST(PairProblem, IsAPromptThatDiffers) {
    EXPECT_EQ(problem_of({7, 8, -9}, {7, 8, -10, -11}), "");
    EXPECT_EQ(problem_of({7, -8, -9}, {7, 10, -11}), "") << "the first token of an answer need not count";
    EXPECT_EQ(problem_of({7, -8, -9}, {7, -8, -9, -4}), "") << "one answer begins the other";
    EXPECT_THAT(problem_of({7, 8, -9}, {6, 8, -9}), HasSubstr("token 0 is 7 with the chosen"));
    EXPECT_THAT(problem_of({7, 8, -9}, {7, 5, -9}), HasSubstr("token 1 is 8 with the chosen"));
}

TEST(PairProblem, AllowsATokenOfPromptAndAnswerInTexts) {
    EXPECT_EQ(problem_of({7, 8, -9}, {7, 5, -9}, true), "");
    EXPECT_THAT(problem_of({7, 8, 3, -9}, {7, 5, 3, -9}, true), HasSubstr("the prompts differ"));
    EXPECT_THAT(problem_of({7, -8}, {6, -9}, true), HasSubstr("the prompts differ"));
}

TEST(PairProblem, IsAFlagInThePrompt) {
    EXPECT_THAT(problem_of({-7, -8}, {-7, -9}), HasSubstr("the first token of the chosen answer has a flag"));
    EXPECT_THAT(problem_of({7, -8}, {-7, -9}),
                HasSubstr("the first token of the rejected answer has a flag"));
    EXPECT_THAT(problem_of({7, -5, -8}, {7, 5, -9}),
                HasSubstr("token 1 has a flag in the chosen answer only"));
    EXPECT_THAT(problem_of({7, 5, -8}, {7, -5, -9}),
                HasSubstr("token 1 has a flag in the rejected answer only"));
}

TEST(PairProblem, IsAnAnswerWithoutAFlag) {
    EXPECT_EQ(problem_of({7, 8}, {7, -9}), "no token of the chosen answer has a flag");
    EXPECT_EQ(problem_of({7, -8}, {7, 9}), "no token of the rejected answer has a flag");
}

}  // namespace
}  // namespace ziggurat::data
