#include "train/save/resumed_data.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text/units.hpp"
#include "data/order/sample_order.hpp"

namespace ziggurat::train {
namespace {

using checkpoint::DeckChange;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// Returns two texts of 26,000 and 9,000 bytes, and one for validation; sequences of 32.
TrainingData two_texts() {
    return {.files = {{"data.train[0].path", "a.txt", 26000, 26000, 1},
                      {"data.train[1].path", "b.txt", 9000, 9000, 2},
                      {"data.validation[0].path", "held.txt", 500, 500, 3}},
            .order = {.seq = 32,
                      .seed = 7,
                      .sources = {{.weight = 1, .tokens = 26000, .trained = 26000, .stream = 0},
                                  {.weight = 1, .tokens = 9000, .trained = 9000, .stream = 1}}},
            .global_batch = 8};
}

/// Returns the manifest of step 50 and sample 400: 200 of each text.
checkpoint::Manifest after(const TrainingData& data) {
    checkpoint::Manifest manifest;
    manifest.progress.step = 50;
    manifest.progress.next_sample = 400;
    manifest.progress.order = data.order;
    manifest.data = data.files;
    return manifest;
}
constexpr data::SourcePosition after_200{0, 200 * 32};

DataVerdict check(const TrainingData& now,
                  bool is_accepted = false,
                  const TrainingData& before = two_texts()) {
    return check_data(after(before), {}, now, is_accepted);
}

void expect_silence(const DataVerdict& verdict) {
    EXPECT_EQ("", verdict.refusal);
    EXPECT_THAT(verdict.warnings, IsEmpty());
    EXPECT_THAT(verdict.notes, IsEmpty());
}

/// Replaces file `index` by other bytes.
TrainingData with(std::size_t index, std::int64_t bytes, std::uint64_t hash, const std::string& path = "") {
    auto data = two_texts();
    auto& file = data.files[index];
    file.bytes = file.hashed_bytes = bytes;
    file.hash = hash;
    file.path = path.empty() ? file.path : path;
    if (index < 2) {
        data.order.sources[index].tokens = data.order.sources[index].trained = bytes;
    }
    return data;
}

DeckChange change_of(const char* key) {
    DeckChange change;
    change.key = key;
    return change;
}

TEST(ResumedData, TheSameDataIsNotTalkedOfAndKeepsItsOrder) {
    auto before = two_texts();
    before.order.first_sample = before.order.reached_sample = 80;
    before.order.sources[1].begin = {2, 64};
    const auto verdict = check(two_texts(), false, before);
    expect_silence(verdict);
    EXPECT_EQ(before.order, verdict.order);

    auto scaled = two_texts();  // 3:3 is 1:1
    scaled.order.sources[0].weight = scaled.order.sources[1].weight = 3;
    expect_silence(check(scaled));
}

TEST(ResumedData, ATrainingFileThatGrewRefuses) {
    EXPECT_THAT(
        check(with(0, 26005, 9)).refusal,
        AllOf(StartsWith("data.train[0].path: the training data has changed since the checkpoint of step 50 "
                         "('a.txt' had 26,000 bytes and has 26,005 now)"),
              HasSubstr("run.accept_data_change=true")));
}

TEST(ResumedData, OtherBytesRefuseUnderWhateverName) {
    EXPECT_THAT(check(with(1, 9000, 9)).refusal,
                HasSubstr("'b.txt' has different content (still 9,000 bytes)"));
    EXPECT_THAT(
        check(with(1, 9000, 9, "/scratch/c.txt")).refusal,
        HasSubstr("'/scratch/c.txt' (9,000 bytes) replaces 'b.txt' (9,000 bytes), which has different "
                  "content"));
    auto more = two_texts();
    more.files.push_back({"data.train[0].path", "a2.txt", 7, 7, 9});
    more.order.sources[0].tokens = more.order.sources[0].trained = 26007;
    EXPECT_THAT(check(more).refusal, HasSubstr("'a2.txt' is new, with 7 bytes"));
    auto reread = two_texts();  // read as tokens of two bytes
    reread.order.sources[0].tokens = reread.order.sources[0].trained = 13000;
    EXPECT_THAT(check(reread).refusal, HasSubstr("'a.txt' is read as 13,000 tokens, previously as 26,000"));
}

TEST(ResumedData, TheSameBytesElsewhereAreNoted) {
    auto moved = two_texts();
    moved.files[0].path = "/scratch/job7/a.txt";
    const auto verdict = check(moved);
    EXPECT_EQ("", verdict.refusal);
    EXPECT_THAT(verdict.warnings, IsEmpty());
    EXPECT_THAT(
        verdict.notes,
        ElementsAre("data.train uses new names for the same data: '/scratch/job7/a.txt' has the bytes of "
                    "'a.txt'"));
    EXPECT_EQ(two_texts().order, verdict.order);
}

TEST(ResumedData, WhoAcceptsTheChangeIsToldWhereItGoesOn) {
    const auto grown = check(with(0, 26005, 9), true);
    EXPECT_EQ("", grown.refusal);
    EXPECT_THAT(grown.warnings, ElementsAre(AllOf(HasSubstr("had 26,000 bytes and has 26,005 now"),
                                                  HasSubstr("after the same number of tokens"))));
    EXPECT_EQ(after_200, grown.order.sources[0].begin);

    const auto replaced = check(with(0, 26005, 9, "c.txt"), true);
    EXPECT_THAT(replaced.warnings, ElementsAre(HasSubstr("from its start")));
    EXPECT_EQ(data::SourcePosition{}, replaced.order.sources[0].begin);
    EXPECT_EQ(2U, replaced.order.sources[0].stream) << "shuffled unlike any that was there";
    EXPECT_EQ(after_200, replaced.order.sources[1].begin);
}

TEST(ResumedData, OtherWeightsGoOnInEachSource) {
    auto now = two_texts();
    now.order.sources[1].weight = 3;
    const auto verdict = check(now);
    EXPECT_THAT(verdict.warnings,
                ElementsAre("data.train: the mix of sources changes from step 51 on: 'a.txt' gives 25 % "
                            "instead of 50 %, from epoch 0.2462 on; 'b.txt' gives 75 % instead of 50 %, from "
                            "epoch 0.7111 on"));
    EXPECT_EQ(400, verdict.order.first_sample);
    EXPECT_EQ(after_200, verdict.order.sources[0].begin);
    EXPECT_EQ(after_200, verdict.order.sources[1].begin);
    EXPECT_EQ(3, verdict.order.sources[1].weight);
}

/// Returns the texts with weights that change in steps 20 and 60.
TrainingData changing_texts() {
    auto data = two_texts();
    data.order.sources[0].changes = {{20 * 8, 3}, {60 * 8, 1}};
    data.order.sources[1].changes = {{60 * 8, 0}};
    return data;
}

TEST(ResumedData, TheSameChangesOfWeightsAreNotReported) {
    const auto verdict = check(changing_texts(), false, changing_texts());
    expect_silence(verdict);
    EXPECT_EQ(changing_texts().order, verdict.order);

    auto past = changing_texts();  // only steps before the checkpoint differ
    past.order.sources[0].changes[0].sample = 30 * 8;
    expect_silence(check(past, false, changing_texts()));
}

TEST(ResumedData, OtherLaterWeightsBeginANewOrder) {
    auto now = changing_texts();
    now.order.sources[1].changes = {{70 * 8, 0}};
    const auto verdict = check(now, false, changing_texts());
    EXPECT_THAT(verdict.warnings,
                ElementsAre(StartsWith("data.train: after step 50, weights change at other samples")));
    const auto positions = data::TrainingOrder{changing_texts().order}.positions(400);
    EXPECT_EQ(400, verdict.order.first_sample);
    EXPECT_EQ(400, verdict.order.reached_sample);
    for (std::size_t s = 0; s < 2; ++s) {
        EXPECT_EQ(positions[s], verdict.order.sources[s].begin);
    }
    EXPECT_EQ(260, verdict.order.sources[0].earlier) << "80 of 160 samples, then 3 of 4";
    EXPECT_EQ(3, verdict.order.sources[0].weight) << "that of step 50";
    EXPECT_EQ((std::vector<data::DataOrderState::Change>{{60 * 8, 1}}), verdict.order.sources[0].changes);
    EXPECT_EQ((std::vector<data::DataOrderState::Change>{{70 * 8, 0}}), verdict.order.sources[1].changes);

    auto at_once = changing_texts();
    at_once.order.sources[0].changes[0].weight = 1;
    EXPECT_THAT(check(at_once, false, changing_texts()).warnings,
                ElementsAre(HasSubstr("'a.txt' gives 50 % instead of 75 %")));
}

TEST(ResumedData, AnotherBatchMovesLaterChangesToTheSamplesOfTheirSteps) {
    auto now = two_texts();
    now.global_batch = 4;
    expect_silence(check(now));

    now = changing_texts();
    now.global_batch = 4;  // as of a new run: step 60 begins with sample 240
    now.order.sources[0].changes = {{20 * 4, 3}, {60 * 4, 1}};
    now.order.sources[1].changes = {{60 * 4, 0}};
    const auto verdict = check(now, false, changing_texts());
    EXPECT_EQ(1U, verdict.warnings.size());
    EXPECT_EQ(400, verdict.order.first_sample);
    EXPECT_EQ(3, verdict.order.sources[0].weight);
    EXPECT_EQ((std::vector<data::DataOrderState::Change>{{400 + 10 * 4, 1}}),
              verdict.order.sources[0].changes);
}

TEST(ResumedData, AnOrderOfAnEarlierVersionContinuesByItsRule) {
    auto before = two_texts();
    before.order.mix = data::MixRule::nested;
    const auto verdict = check(two_texts(), false, before);
    expect_silence(verdict);
    EXPECT_EQ(before.order, verdict.order);
    EXPECT_EQ(data::MixRule::even, check(changing_texts(), false, before).order.mix);
}

TEST(ResumedData, SourcesComeGoAndChangePlaces) {
    auto now = two_texts();
    std::swap(now.files[0], now.files[1]);
    std::swap(now.files[0].key, now.files[1].key);
    std::swap(now.order.sources[0], now.order.sources[1]);
    std::swap(now.order.sources[0].stream, now.order.sources[1].stream);  // by position, as in a new run
    const auto moved = check(now);
    EXPECT_THAT(moved.warnings, IsEmpty());
    EXPECT_THAT(moved.notes, ElementsAre(HasSubstr("in another order: each keeps its share")));
    EXPECT_EQ(1U, moved.order.sources[0].stream) << "b.txt is shuffled as before";

    now.files.insert(now.files.begin() + 2, {"data.train[2].path", "c.txt", 5000, 5000, 4});
    now.order.sources.push_back({.weight = 2, .tokens = 5000, .trained = 5000, .stream = 2});
    const auto added = check(now);
    EXPECT_EQ("", added.refusal);
    EXPECT_THAT(added.warnings, ElementsAre(AllOf(HasSubstr("'b.txt' gives 25 % instead of 50 %"),
                                                  HasSubstr("'c.txt' is new with 50 %"))));

    auto fewer = two_texts();
    fewer.files.erase(fewer.files.begin());
    fewer.files[0].key = "data.train[0].path";
    fewer.order.sources.erase(fewer.order.sources.begin());
    const auto gone = check(fewer);
    EXPECT_THAT(gone.warnings,
                ElementsAre(AllOf(HasSubstr("'b.txt' gives 100 % instead of 50 %"),
                                  HasSubstr("'a.txt', which gave 50 %, is removed after epoch 0.2462"))));
    EXPECT_EQ(after_200, gone.order.sources[0].begin);
}

TEST(ResumedData, OtherSequencesSayWhatComesTwice) {
    auto now = two_texts();
    now.order.seq = 64;
    now.order.is_shuffled = false;
    auto before = two_texts();
    before.order.is_shuffled = false;
    EXPECT_THAT(check(now, false, before).warnings,
                ElementsAre("data.seq is 64 instead of 32: sequences differ from step 51 on; none of their "
                            "tokens is read a second time in its epoch, or skipped"));

    now.order.is_shuffled = true;
    const auto verdict = check(now);
    const data::TrainingOrder old_order{two_texts().order};
    const data::TrainingOrder order{verdict.order};
    std::int64_t repeated = 0;
    for (std::int64_t passed = 0; passed < order.tokens_left(0); ++passed) {
        repeated += old_order.has_passed(0, order.token_ahead(0, passed), after_200) ? 1 : 0;
    }
    EXPECT_GT(repeated, 1000);
    EXPECT_THAT(verdict.warnings,
                ElementsAre(HasSubstr(fmt::format("; {} tokens of 'a.txt' are read a second time in its "
                                                  "epoch 1, and about the same number are skipped",
                                                  format_grouped(repeated)))));
}

TEST(ResumedData, ASeedMattersOnlyWhereItShuffles) {
    auto now = two_texts();
    now.order.seed = 8;
    EXPECT_THAT(check(now).warnings, ElementsAre(HasSubstr("run.seed is 8 instead of 7")));
    auto before = two_texts();
    now.order.is_shuffled = before.order.is_shuffled = false;
    expect_silence(check(now, false, before));
}

TEST(ResumedData, TokensThatAreHeldOutNoMoreAreCounted) {
    auto before = two_texts();
    before.order.sources[0].trained = 20000;
    const auto trained = check(two_texts(), false, before);
    EXPECT_THAT(
        trained.warnings,
        ElementsAre(HasSubstr("data.held_out keeps another part"),
                    HasSubstr("6,000 tokens of 'a.txt' that were held out are trained on from here")));
    const auto held = check(before);
    ASSERT_EQ(2U, held.warnings.size());
    EXPECT_THAT(held.warnings.back(),
                HasSubstr("6,000 tokens of 'a.txt' that were training data are held out from here"));
}

TEST(ResumedData, OtherValidationDataIsWarnedOfAndTheSameElsewhereIsNot) {
    const auto verdict = check(with(2, 501, 9));
    EXPECT_EQ("", verdict.refusal);
    EXPECT_THAT(verdict.warnings, ElementsAre(HasSubstr("losses before and after are not comparable")));
    expect_silence(check(with(2, 500, 3, "/scratch/held.txt")));
}

TEST(ResumedData, ACheckpointThatDoesNotSayIsNoted) {
    const auto verdict = check_data({}, {}, two_texts(), false);
    EXPECT_EQ("", verdict.refusal);
    EXPECT_THAT(verdict.notes, ElementsAre(HasSubstr("cannot be detected")));
    auto order = two_texts().order;
    order.mix = data::MixRule::nested;  // that of the version that wrote the checkpoint
    EXPECT_EQ(order, verdict.order);
}

TEST(ResumedData, WithoutPlacesACheckpointGoesOnByThePresentDeck) {
    auto manifest = after(two_texts());
    manifest.progress.order = {};
    expect_silence(check_data(manifest, {}, two_texts(), false));
    EXPECT_THAT(check_data(manifest, {change_of("data.train[1].weight")}, two_texts(), false).warnings,
                ElementsAre(HasSubstr("does not record how far each source was read")));
    EXPECT_NE("", check_data(manifest, {}, with(0, 26005, 9), false).refusal);

    const auto changing = check_data(manifest, {}, changing_texts(), false).order;
    EXPECT_EQ(400, changing.first_sample);
    EXPECT_EQ(after_200, changing.sources[0].begin) << "one half of the samples, as without changes";
    EXPECT_EQ(3, changing.sources[0].weight);
}

TEST(ResumedData, OfTokensWithoutAFileTheDeckAloneSpeaks) {
    auto own = two_texts();
    own.files.clear();
    EXPECT_THAT(check_data(after(own), {change_of("data.train[0].path")}, own, false).warnings,
                ElementsAre(HasSubstr("only the calling program can check whether its tokens changed")));
}

TEST(ResumedData, PathsThatNobodyCanReadCompareAsTheyAreKept) {
    auto odd = two_texts();
    odd.files[0].path = "te\nxt";
    odd.files = for_manifest(odd.files);
    EXPECT_EQ("te\\x0axt", odd.files[0].path);
    expect_silence(check(odd, false, odd));
}

TEST(ResumedData, AnotherSecretInAPathIsNoChange) {
    const auto with_secret = [](const std::string& secret) {
        auto data = two_texts();
        data.files[0].path = "/data/" + secret + "/text.txt";
        data.files = for_manifest(data.files, std::vector<Secret>{{"DATA_TOKEN", secret}});
        return data;
    };
    EXPECT_EQ("/data/${env:DATA_TOKEN}/text.txt", with_secret("abc").files[0].path);
    expect_silence(check(with_secret("xyz"), false, with_secret("abc")));
}

}  // namespace
}  // namespace ziggurat::train
