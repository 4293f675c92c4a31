#include "train/preference/reference_scores.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "data/mapped_file.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::train {
namespace {

constexpr ReferenceKey key{.inputs = 77, .weights = 78, .source = 79};

ReferenceScores three_scores() {
    ReferenceScores scores{3};
    scores.set(0, {-1.5, -2.25});
    scores.set(2, {-1e-3, -400});
    return scores;
}

TEST(ReferenceScores, AreReadAsWritten) {
    ReferenceScores again{3};
    const auto file = three_scores().to_file(key);
    EXPECT_EQ(again.take_file(file, key), "");
    EXPECT_TRUE(again.knows(0));
    EXPECT_FALSE(again.knows(1));
    EXPECT_EQ(again.all()[0].rejected, -2.25);
    EXPECT_EQ(again.all()[2].chosen, -1e-3);
    EXPECT_EQ(key_of_file(file), key);
    const auto* const before = again.all().data();
    again.forget();
    EXPECT_FALSE(again.knows(0));
    EXPECT_EQ(again.all().data(), before);
}

TEST(ReferenceScores, OfOtherContentOrDamagedAreNotTaken) {
    const auto file = three_scores().to_file(key);
    const auto reason = [](const std::string& content, const ReferenceKey& of, std::int64_t pairs = 3) {
        ReferenceScores scores{pairs};
        const auto found = scores.take_file(content, of);
        EXPECT_EQ(scores.knows(0), found.empty());
        return found;
    };
    const char* const other_inputs =
        "it was made from other pairs, with other settings of the model, the sequences or the precision, or "
        "by another version of the computation";
    EXPECT_EQ(reason(file, {76, key.weights, key.source}), other_inputs);
    EXPECT_EQ(reason(file, key, 4), other_inputs);
    EXPECT_EQ(reason(file, {key.inputs, 99, key.source}),
              "it belongs to other weights of the reference (their hash is 000000000000004e, now "
              "0000000000000063)");
    // Equal weights may be read from other files.
    EXPECT_EQ(reason(file, {key.inputs, key.weights, 7}), "");
    EXPECT_EQ(reason(file.substr(0, 47), key), "it is shorter than its header");
    EXPECT_EQ(reason(file.substr(0, file.size() - 16), key), "it is damaged: its hash differs");
    for (const std::size_t at : {std::size_t{8}, std::size_t{24}, std::size_t{49}, file.size() - 1}) {
        auto changed = file;
        changed[at] = static_cast<char>(changed[at] ^ 1);
        EXPECT_EQ(reason(changed, key), "it is damaged: its hash differs") << at;
        EXPECT_EQ(key_of_file(changed), ReferenceKey{}) << at;
    }
    auto foreign = file;
    foreign[0] = 'X';
    EXPECT_EQ(reason(foreign, key), "its first bytes are not ZGREFSC2");
}

TEST(ReferenceScores, KeyedByPathAreNotTaken) {
    std::string earlier = "ZGREFLOG" + std::string(24 + 48, '\0');
    ReferenceScores scores{3};
    EXPECT_EQ(scores.take_file(earlier, key),
              "an earlier version of the program wrote it, and identified the reference by its path");
    EXPECT_EQ(key_of_file(earlier), ReferenceKey{});
}

TEST(InputsKey, DependsOnWhatChangesTheScores) {
    spec::RunSpec run;
    run.data.seq = 64;
    run.model.head_dim = 16;
    const std::vector<std::uint64_t> pairs{5, 6};
    const auto before = inputs_key(run, pairs);
    const auto differs = [&](const auto& change) {
        auto changed = run;
        auto changed_pairs = pairs;
        change(changed, changed_pairs);
        return inputs_key(changed, changed_pairs) != before;
    };
    EXPECT_TRUE(
        differs([](auto& r, auto&) { r.train.objective.reference = spec::ReferenceKind::adapters_off; }));
    EXPECT_TRUE(differs([](auto& r, auto&) { r.data.seq = 32; }));
    EXPECT_TRUE(differs([](auto& r, auto&) { r.data.packing = spec::SamplePacking::none; }));
    EXPECT_TRUE(differs([](auto& r, auto&) { r.precision.compute = spec::DType::bf16; }));
    EXPECT_TRUE(differs([](auto& r, auto&) { r.model.rope_theta = 5e5; }));
    EXPECT_TRUE(differs([](auto& r, auto&) { r.model.rope_scaling.long_factors = {1, 2}; }));
    EXPECT_TRUE(differs([](auto& r, auto&) { r.model.softcap.logits = 30; }));
    EXPECT_TRUE(differs([](auto& r, auto&) { r.model.lora.alpha = 8; }));
    EXPECT_TRUE(differs([](auto&, auto& p) { p[0] = 7; }));
    EXPECT_TRUE(differs([](auto&, auto& p) { std::swap(p[0], p[1]); }));
    // The layout, the loss, paths and the usual scale of attention do not change them.
    EXPECT_FALSE(differs([](auto& r, auto&) { r.parallel.tensor = 2; }));
    EXPECT_FALSE(differs([](auto& r, auto&) { r.model.vocab_padded = 128; }));
    EXPECT_FALSE(differs([](auto& r, auto&) { r.train.objective.beta = 1; }));
    EXPECT_FALSE(differs([](auto& r, auto&) { r.train.objective.reference_path = "other"; }));
    EXPECT_FALSE(differs([](auto& r, auto&) { r.model.init_path = "other"; }));
    EXPECT_FALSE(differs([](auto& r, auto&) { r.model.attention_scale = 0.25; }));
}

TEST(FileHashes, CoverAllBytes) {
    const test::ScratchFolder folder;
    const auto path = folder.path() + "/pairs";
    const auto hash_with = [&](std::int64_t hashed_bytes, char last) {
        std::ofstream{path} << std::string(1000, 'x') + last;
        const data::MappedFile mapped{path, "data"};
        const data::NamedFile file{"data.train[0].path", {&mapped}};
        const data::FileFingerprint known{"", path, 1001, hashed_bytes, 5};
        return file_hashes({&file, 1}, {&known, 1}).front();
    };
    EXPECT_EQ(hash_with(1001, 'a'), 5U) << "the fingerprint covers the file";
    EXPECT_NE(hash_with(64, 'a'), 5U);
    EXPECT_NE(hash_with(64, 'a'), hash_with(64, 'b'));
}

TEST(SourceKey, IsThatOfTheContent) {
    const test::ScratchFolder folder;
    const auto write = [&](const std::string& name, const std::string& weights) {
        std::filesystem::create_directories(folder.path() + "/" + name);
        std::ofstream{folder.path() + "/" + name + "/model.safetensors"} << weights;
        return source_key(folder.path() + "/" + name, true);
    };
    const auto before = write("one", "weights");
    EXPECT_NE(before, 0U);
    EXPECT_EQ(write("moved", "weights"), before);
    EXPECT_NE(write("one", "changed"), before) << "another content of the same size at the same path";
    EXPECT_EQ(source_key("", true), 0U);
    EXPECT_EQ(source_key(folder.path() + "/missing", true), 0U);
    EXPECT_EQ(source_key(folder.path() + "/missing", false), 0U);
}

}  // namespace
}  // namespace ziggurat::train
