#include "train/preference/reference_scores.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ziggurat::train {
namespace {

constexpr std::uint64_t key = 77;

ReferenceScores three_scores() {
    ReferenceScores scores{3};
    scores.set(0, {-1.5, -2.25});
    scores.set(2, {-1e-3, -400});
    return scores;
}

TEST(ReferenceScores, AreReadAsWritten) {
    ReferenceScores again{3};
    EXPECT_EQ(again.take_file(three_scores().to_file(key), key), "");
    EXPECT_TRUE(again.knows(0));
    EXPECT_FALSE(again.knows(1));
    EXPECT_EQ(again.all()[0].rejected, -2.25);
    EXPECT_EQ(again.all()[2].chosen, -1e-3);
}

TEST(ReferenceScores, OfOtherDataOrDamagedAreNotTaken) {
    const auto file = three_scores().to_file(key);
    const auto reason = [](const std::string& content, std::uint64_t of, std::int64_t pairs = 3) {
        ReferenceScores scores{pairs};
        const auto found = scores.take_file(content, of);
        EXPECT_FALSE(scores.knows(0));
        return found;
    };
    EXPECT_EQ(reason(file, key + 1), "it was made for other data, another reference or another precision");
    EXPECT_EQ(reason(file, key, 4), "it was made for other data, another reference or another precision");
    EXPECT_EQ(reason(file.substr(0, 31), key), "it is shorter than its header");
    EXPECT_EQ(reason(file.substr(0, file.size() - 16), key), "it is damaged: its hash differs");
    for (const std::size_t at : {std::size_t{33}, file.size() - 1}) {
        auto changed = file;
        changed[at] = static_cast<char>(changed[at] ^ 1);
        EXPECT_EQ(reason(changed, key), "it is damaged: its hash differs") << at;
    }
    auto foreign = file;
    foreign[0] = 'X';
    EXPECT_EQ(reason(foreign, key), "its first bytes are not ZGREFLOG");
}

TEST(ReferenceKey, DependsOnWhatChangesTheScores) {
    spec::RunSpec run;
    run.data.seq = 64;
    const std::vector<data::FileFingerprint> files{{"data.train[0].path", "a", 10, 10, 5}};
    const auto before = reference_key(run, files);
    const auto differs = [&](const auto& change) {
        auto changed = run;
        auto changed_files = files;
        change(changed, changed_files);
        return reference_key(changed, changed_files) != before;
    };
    EXPECT_TRUE(
        differs([](auto& r, auto&) { r.train.objective.reference = spec::ReferenceKind::adapters_off; }));
    EXPECT_TRUE(differs([](auto& r, auto&) { r.train.objective.reference_path = "other"; }));
    EXPECT_TRUE(differs([](auto& r, auto&) { r.model.init_path = "other"; }));
    EXPECT_TRUE(differs([](auto& r, auto&) { r.run.seed = 9; }));
    EXPECT_TRUE(differs([](auto& r, auto&) { r.data.seq = 32; }));
    EXPECT_TRUE(differs([](auto&, auto& f) { f[0].hash = 6; }));
    // The layout, the loss and the name of a file do not change them.
    EXPECT_FALSE(differs([](auto& r, auto&) { r.parallel.tensor = 2; }));
    EXPECT_FALSE(differs([](auto& r, auto&) { r.train.objective.beta = 1; }));
    EXPECT_FALSE(differs([](auto&, auto& f) { f[0].path = "b"; }));
}

}  // namespace
}  // namespace ziggurat::train
