#include "train/save/resumed_data.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ziggurat::train {
namespace {

using checkpoint::DeckChange;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Files = std::vector<data::FileFingerprint>;

const Files before{{"data.train[0].path", "text.txt", 26000, 26000, 1},
                   {"data.validation[0].path", "held.txt", 500, 500, 2}};

DataVerdict judge(const Files& now, bool is_accepted = false, const std::vector<DeckChange>& deck = {}) {
    checkpoint::Manifest manifest;
    manifest.progress.step = 8;
    manifest.progress.next_sample = 1240;
    manifest.data = for_manifest(before);
    return judge_data(manifest, deck, for_manifest(now), is_accepted);
}

DeckChange change_of(const char* key) {
    DeckChange change;
    change.key = key;
    return change;
}

Files with(std::size_t index, std::int64_t bytes, std::uint64_t hash) {
    Files files = before;
    files[index].bytes = files[index].hashed_bytes = bytes;
    files[index].hash = hash;
    return files;
}

TEST(ResumedData, TheSameFilesAreNotTalkedOf) {
    const auto verdict = judge(before);
    EXPECT_EQ("", verdict.refusal);
    EXPECT_TRUE(verdict.warnings.empty());
    EXPECT_TRUE(verdict.notes.empty());
}

TEST(ResumedData, ATrainingFileThatGrewRefuses) {
    EXPECT_THAT(
        judge(with(0, 26005, 3)).refusal,
        AllOf(StartsWith("data.train[0].path: the training data has changed since the checkpoint of step 8 "
                         "('text.txt' had 26,000 bytes and has 26,005 now)"),
              HasSubstr("run.accept_data_change=true")));
}

TEST(ResumedData, OtherBytesRefuseAndSoDoFilesThatComeOrGo) {
    EXPECT_THAT(judge(with(0, 26000, 3)).refusal, HasSubstr("has other bytes, 26,000 then and now"));
    Files more = before;
    more.push_back({"data.train[0].path", "text2.txt", 7, 7, 9});
    EXPECT_THAT(judge(more).refusal, HasSubstr("'text2.txt' is new, with 7 bytes"));
    more[0].path = "text1.txt";
    EXPECT_THAT(judge(more).refusal, HasSubstr("2 more files have changed"));
    EXPECT_THAT(judge({before[1]}).refusal,
                HasSubstr("'text.txt', which had 26,000 bytes, is not there any more"));
}

TEST(ResumedData, WhoAcceptsTheChangeIsToldWithWhichSampleItGoesOn) {
    const auto verdict = judge(with(0, 26005, 3), true);
    EXPECT_EQ("", verdict.refusal);
    EXPECT_THAT(verdict.warnings, ElementsAre(AllOf(HasSubstr("had 26,000 bytes and has 26,005 now"),
                                                    HasSubstr("goes on with sample 1,240 of the order"))));
}

TEST(ResumedData, ASourceThatTheDeckNamesOtherwiseIsTheDecksBusiness) {
    const Files moved{{"data.train[0].path", "other.txt", 9, 9, 9}, before[1]};
    EXPECT_NE("", judge(moved).refusal);
    for (const char* key : {"data.train[0].path", "data.train[0]", "data.train", "data.train[0].format"}) {
        const auto verdict = judge(moved, false, {change_of(key)});
        EXPECT_EQ("", verdict.refusal) << key;
        EXPECT_TRUE(verdict.warnings.empty()) << key;
    }
    EXPECT_NE(
        "",
        judge(moved, false, {change_of("data.train[1].path"), change_of("data.train[0].weight")}).refusal);
}

TEST(ResumedData, OtherValidationDataIsWarnedOf) {
    const auto verdict = judge(with(1, 501, 3));
    EXPECT_EQ("", verdict.refusal);
    EXPECT_THAT(verdict.warnings, ElementsAre(HasSubstr("losses before and after do not compare")));
}

TEST(ResumedData, ACheckpointThatDoesNotSayIsNoted) {
    const auto verdict = judge_data({}, {}, for_manifest(before), false);
    EXPECT_EQ("", verdict.refusal);
    EXPECT_THAT(verdict.notes, ElementsAre(HasSubstr("is not known")));
}

TEST(ResumedData, PathsThatNobodyCanReadCompareAsTheyAreKept) {
    const Files odd{{"data.train[0].path", "te\nxt", 1, 1, 1}};
    checkpoint::Manifest manifest;
    manifest.data = for_manifest(odd);
    EXPECT_EQ("te\\x0axt", manifest.data[0].path);
    EXPECT_EQ("", judge_data(manifest, {}, for_manifest(odd), false).refusal);
}

TEST(ResumedData, AnotherSecretInAPathIsNoChange) {
    const auto files_with = [](const std::string& secret) {
        const Files files{{"data.train[0].path", "/data/" + secret + "/text.txt", 1, 1, 1}};
        return for_manifest(files, std::vector<Secret>{{"DATA_TOKEN", secret}});
    };
    checkpoint::Manifest manifest;
    manifest.data = files_with("abc");
    EXPECT_EQ("/data/${env:DATA_TOKEN}/text.txt", manifest.data[0].path);
    EXPECT_EQ("", judge_data(manifest, {}, files_with("xyz"), false).refusal);
}

}  // namespace
}  // namespace ziggurat::train
