#include "checkpoint/manifest.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <functional>

#include "base/error.hpp"
#include "tests/support/random/draw.hpp"

namespace ziggurat::checkpoint {
namespace {

using test::Draw;

Manifest example() {
    Manifest manifest;
    manifest.program = "0.1.0 \"quoted\"";
    manifest.progress = {1250, std::int64_t{1} << 62, 40'000, 3, 0.1 + 0.2, 2, {}};
    manifest.deck = "model: {layers: 2}\n# caf\xc3\xa9\n";
    manifest.layout = "2 ranks, ZeRO 3";
    manifest.ranks = 2;
    manifest.data = {{"data.train[0].path", "text.txt", 5000, 5000, 17},
                     {"data.validation[0].path", "large.bin", std::int64_t{1} << 40, 1 << 26, 18}};
    manifest.files = {{"shard-00000.h5", 9000, 0xffffffffffffffffu},
                      {"shard-00001.h5", 9000, 0x8000000000000000u},
                      {"master.h5", 77, 1}};
    const Piece top{PieceKind::weights, "layers.0.w", {6, 4}, spec::DType::f32, {{0, 0}, {2, 4}}};
    Piece bottom = top;
    bottom.box = {{2, 0}, {4, 4}};
    const Piece scalar{PieceKind::second_moment, "scale", {}, spec::DType::bf16, {}};
    manifest.pieces = {
        {top, 0, 4096, 800, 0xfedcba9876543210u}, {bottom, 1, 4096, 800, 7}, {scalar, 1, 300, 400, 0}};
    return manifest;
}

/// Returns the text with its hash corrected.
std::string rehashed(std::string text) {
    const std::string last = "\"xxh3\": \"";
    const std::size_t body = text.rfind(last);
    text.resize(body);
    return text + fmt::format("{}{:016x}\"}}\n", last, XXH3_64bits(text.data(), body));
}

std::string with(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return rehashed(text.replace(at, from.size(), to));
}

std::string problem_with(const std::string& text) {
    try {
        parse_manifest(text, "dir/COMPLETE");
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::checkpoint);
        EXPECT_NE(std::string{error.what()}.find("'dir/COMPLETE'"), std::string::npos);
        return error.what();
    }
    return "";
}

TEST(Manifest, WithoutARowOfSkippedStepsHasNone) {
    const auto manifest =
        parse_manifest(with(to_text(example()), ",\"skipped_in_a_row\":2", ""), "dir/COMPLETE");
    EXPECT_EQ(manifest.progress.skipped, 3);
    EXPECT_EQ(manifest.progress.skipped_in_a_row, 0);
}

TEST(Manifest, KeepsTheLatestStepsOfARunThatLooksForSpikes) {
    EXPECT_EQ(to_text(example()).find("recent"), std::string::npos) << "nobody looks";
    auto manifest = example();
    manifest.progress.recent = {
        .losses = {0.1 + 0.2, 1e-300}, .grad_norms = {1.0 / 3, 7}, .spikes_in_a_row = 2};
    const auto text = to_text(manifest);

    EXPECT_EQ(parse_manifest(text, "dir/COMPLETE").progress.recent, manifest.progress.recent);
    EXPECT_NE(
        problem_with(with(text, "\"spikes_in_a_row\":2", "\"spikes_in_a_row\":-1")).find("recent steps"),
        std::string::npos);
    EXPECT_NE(problem_with(with(text, ",7.0]", "]")).find("recent steps"), std::string::npos);
}

TEST(Manifest, KeepsTheNormOfTheLastStep) {
    EXPECT_EQ(to_text(example()).find("grad_norm"), std::string::npos) << "an older version had none";
    auto manifest = example();
    manifest.progress.grad_norm = 1.0 / 3;
    const auto text = to_text(manifest);

    EXPECT_EQ(parse_manifest(text, "dir/COMPLETE").progress.grad_norm, 1.0 / 3);
    EXPECT_NE(problem_with(with(text, "\"grad_norm\":0.3333333333333333", "\"grad_norm\":-1")).find("norm"),
              std::string::npos);
}

TEST(Manifest, KeepsTheOrderOfSamplesAndTheCourseOfTheRate) {
    EXPECT_EQ(to_text(example()).find("\"order\""), std::string::npos) << "an older version had none";
    auto manifest = example();
    manifest.progress.order = {.first_sample = 100,
                               .seq = 32,
                               .seed = 0xffffffffffffffffu,
                               .is_shuffled = false,
                               .sources = {{.weight = 0.5,
                                            .tokens = 5000,
                                            .trained = 4000,
                                            .stream = 3,
                                            .changes = {{10'100, 1.5}, {20'100, 0}},
                                            .earlier = 17,
                                            .reached = 5'000 + 7'500},
                                           {.weight = 0.5,
                                            .tokens = 900,
                                            .trained = 900,
                                            .stream = 0,
                                            .begin = {.epoch = 4, .tokens = 64},
                                            .reached = 5'000 + 2'500 + 19'900}},
                               .reached_sample = 40'000};
    manifest.progress.course = {.begin_step = 10,
                                .begin_tokens = 5000,
                                .end_step = 2000,
                                .end_tokens = std::int64_t{1} << 40,
                                .next_rate = 0.1 + 0.2};
    const auto text = to_text(manifest);
    EXPECT_EQ(parse_manifest(text, "x"), manifest);

    const auto refused = [&](const std::string& from, const std::string& to, const std::string& reason) {
        const std::string problem = problem_with(with(text, from, to));
        EXPECT_NE(problem.find(reason), std::string::npos) << from << " as " << to << ": " << problem;
    };
    refused("\"first_sample\":100", "\"first_sample\":100000000", "sample order");
    refused("\"seq\":32", "\"seq\":0", "sample order");
    refused("\"trained\":4000", "\"trained\":5001", "sample order");
    refused("\"trained\":4000", "\"trained\":32", "sample order");
    refused("\"weight\":0.5", "\"weight\":-0.5", "sample order");
    refused("[10100,1.5]", "[20100,1.5]", "sample order");
    refused("[10100,1.5]", "[99,1.5]", "sample order");
    refused("[10100,1.5]", "[10100,-1.5]", "sample order");
    refused("\"reached\":12500", "\"reached\":12510", "sample order");
    refused("\"reached_sample\":40000", "\"reached_sample\":39999", "sample order");
    refused("\"mix\":\"even\"", "\"mix\":\"odd\"", "unknown mix");
    refused("\"mix\":\"even\"", "\"mix\":\"nested\"", "sample order");
    refused("\"tokens_of_epoch\":64", "\"tokens_of_epoch\":-1", "sample order");
    refused("\"begin_step\":10", "\"begin_step\":1251", "learning-rate state");
    refused("\"end_step\":2000", "\"end_step\":10", "learning-rate state");
    refused("\"next_rate\":0.30000000000000004", "\"next_rate\":-1.0", "learning-rate state");
}

TEST(Manifest, ReadsAnOrderOfAnEarlierVersionWithoutChanges) {
    auto manifest = example();
    manifest.progress.order = {.first_sample = 100,
                               .seq = 32,
                               .sources = {{.weight = 1, .tokens = 5000, .trained = 4000},
                                           {.weight = 2, .tokens = 900, .trained = 900}},
                               .mix = data::MixRule::nested};
    auto text = to_text(manifest);
    for (const std::string part : {"\"changes\":[],", "\"earlier\":0,", ",\"reached\":0",
                                   "\"mix\":\"nested\",", "\"reached_sample\":100,"}) {
        ASSERT_NE(text.find(part), std::string::npos) << part;
        for (auto at = text.find(part); at != std::string::npos; at = text.find(part)) {
            text.erase(at, part.size());
        }
    }
    EXPECT_EQ(manifest, parse_manifest(rehashed(text), "x"));
}

TEST(Manifest, ReadsBackToTheSameBits) {
    const Manifest manifest = example();
    EXPECT_EQ(parse_manifest(to_text(manifest), "x"), manifest);
}

TEST(Manifest, EndsWithTheHashThatCoversIt) {
    const std::string text = to_text(example());
    EXPECT_EQ(rehashed(text), text);
    EXPECT_EQ(text, with(text, fmt::format("{:016x}", hash_of_manifest(text)), "0000000000000000"));
}

TEST(Manifest, EveryBitAndEveryLengthCounts) {
    const std::string text = to_text(example());
    for (std::size_t byte = 0; byte < text.size(); ++byte) {
        for (int bit = 0; bit < 8; ++bit) {
            std::string damaged = text;
            damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
            EXPECT_NE(problem_with(damaged), "") << "byte " << byte << ", bit " << bit;
        }
        EXPECT_NE(problem_with(text.substr(0, byte)), "") << byte;
    }
    EXPECT_NE(problem_with(text + "\n"), "");
    EXPECT_NE(problem_with(text + text), "");
}

TEST(Manifest, WhatCannotBeIsRefusedThoughTheHashIsRight) {
    const std::string text = to_text(example());
    const auto refused = [&](const std::string& from, const std::string& to, const std::string& reason) {
        const std::string problem = problem_with(with(text, from, to));
        EXPECT_NE(problem.find(reason), std::string::npos) << problem;
    };
    refused("\"version\": 1", "\"version\": 2", "version 2 of the format");
    refused("ziggurat-checkpoint", "ziggurat-other", "another format");
    refused("[0,[0,0],[2,4]", "[0,[0,0],[3,4]", "do not cover");
    refused("[0,[2,0],[4,4]", "[0,[1,0],[4,4]", "overlap");
    refused("[0,[2,0],[4,4]", "[0,[3,0],[4,4]", "exceeds the tensor");
    refused("[0,[2,0],[4,4]", "[0,[2,0],[4]", "other dims");
    refused("[0,[2,0],[4,4]", "[0,[2,-1],[4,4]", "exceeds the tensor");
    refused("[0,[2,0],[4,4]", "[9,[2,0],[4,4]", "");
    refused("[0,[2,0],[4,4]", "[0.5,[2,0],[4,4]", "not a whole number");
    refused("[0,[2,0],[4,4]", "[true,[2,0],[4,4]", "not a whole number");
    refused("[4,4],1,4096", "[4,4],3,4096", "not listed");
    refused("[4,4],1,4096", "[4,4],1,8990", "exceeds 'shard-00001.h5'");
    refused("[4,4],1,4096", "[4,4],1,-8", "exceeds");
    refused("[4,4],1,4096", "[4,4],1,290", "share byte");
    refused("[4,4],1,4096,800", "[4,4],1,4096,400", "share byte");
    refused("shard-00001.h5", "../../secret", "not a file name");
    refused("shard-00001.h5", "shard-00000.h5", "two files");
    refused("\"bytes\":77", "\"bytes\":-1", "negative");
    refused("\"bytes\":77", "\"bytes\":99999999999999999999", "whole number");
    refused("[6,4]", "[6,4611686018427387904]", "");
    refused("[6,4]", "[6,4,1,1,1,1,1]", "dims");
    refused("\"bytes\":77", "\"bytes\":9000000000000000000", "larger than any disk");
    refused("\"step\":1250", "\"step\":-1", "negative");
    refused("\"step\":1250", "\"stop\":1250", "step");
    refused("\"f32\"", "\"f33\"", "not an element type");
    refused("\"pieces\": [", "\"pieces\": [7,", "");
    refused("\"files\": [", "\"files\": 3, \"was\": [", "");
}

TEST(Manifest, ProgressThatIsOffByOneIsRefused) {
    Manifest manifest = example();
    manifest.progress = {.step = 1250,
                         .tokens = 100 + 1000 * 2048,
                         .next_sample = 90 + 1000 * 32,
                         .pace = {.from_step = 250,
                                  .from_tokens = 100,
                                  .from_sample = 90,
                                  .samples_per_step = 32,
                                  .tokens_per_step = 2048}};
    EXPECT_EQ(parse_manifest(to_text(manifest), "x"), manifest);
    auto& progress = manifest.progress;
    auto& pace = progress.pace;
    int number = 0;
    for (auto* field :
         {&progress.step, &progress.tokens, &progress.next_sample, &pace.from_step, &pace.from_tokens,
          &pace.from_sample, &pace.samples_per_step, &pace.tokens_per_step}) {
        for (const int by : {-1, 1}) {
            *field += by;
            EXPECT_NE(problem_with(to_text(manifest)).find("is inconsistent"), std::string::npos)
                << "field " << number << " by " << by;
            *field -= by;
        }
        ++number;
    }
    pace.samples_per_step = std::int64_t{1} << 62;  // a few steps of it would overflow
    EXPECT_NE(problem_with(to_text(manifest)).find("invalid step increments"), std::string::npos);
}

TEST(Manifest, APaceGoesOnUntilItChanges) {
    const TrainingProgress first{.step = 10, .tokens = 5000, .next_sample = 100, .pace = {0, 0, 0, 10, 500}};
    EXPECT_EQ(increments_from(first, 10, 500), first.pace);
    EXPECT_EQ(increments_from(first, 20, 1000), (StepIncrements{10, 5000, 100, 20, 1000}));
    EXPECT_EQ(increments_from({.step = 10, .tokens = 5000, .next_sample = 100}, 10, 500),
              (StepIncrements{10, 5000, 100, 10, 500}))
        << "an older version wrote no pace";
}

TEST(Manifest, ProgressThatContradictsItselfIsRefused) {
    const std::string text = to_text(example());
    const auto refused = [&](const std::string& from, const std::string& to, const std::string& reason) {
        const std::string problem = problem_with(with(text, from, to));
        EXPECT_NE(problem.find(reason), std::string::npos) << to << ": " << problem;
    };
    refused("\"skipped\":3", "\"skipped\":1251", "is inconsistent: 1250 steps, 1251 of them skipped");
    refused("\"skipped_in_a_row\":2", "\"skipped_in_a_row\":4", "is inconsistent");
    refused("\"skipped_in_a_row\":2", "\"skipped_in_a_row\":-1", "negative");
    refused("\"next_sample\":40000", "\"next_sample\":1249", "is inconsistent");
    refused("\"tokens\":4611686018427387904", "\"tokens\":39999", "is inconsistent");
    refused("\"step\":1250", "\"step\":0", "is inconsistent");
    refused("\"step\":1250", "\"step\":9000000000000000000", "progress out of range");
    refused("\"next_sample\":40000", "\"next_sample\":4000000000000000000", "progress out of range");
    refused("\"seconds\":0.3", "\"seconds\":-0.3", "negative");
    refused("\"seconds\":0.3", "\"seconds\":1e308, \"was\":0.3", "progress out of range");
    refused("\"seconds\":0.3", "\"seconds\":1e999, \"was\":0.3", "");
    refused("\"ranks\": 2", "\"ranks\": 0", "its number of ranks is 0");
    refused("\"ranks\": 2", "\"ranks\": 2147483647", "its number of ranks is 2147483647");
}

TEST(Manifest, DeepAndLongTextsAreRefusedBeforeAnythingIsBuiltOfThem) {
    const std::string text = to_text(example());
    for (const int levels : {20, 3000, 1'000'000}) {
        const std::string nested = std::string(static_cast<std::size_t>(levels), '[') + "7" +
                                   std::string(static_cast<std::size_t>(levels), ']');
        for (const char* key :
             {"\"version\": ", "\"ranks\": ", "\"tensors\": [", "\"more\": 0, \"pieces\": ["}) {
            const std::string known = key[1] == 'm' ? "\"pieces\": [" : key;
            const std::string problem =
                problem_with(with(text, known, key + nested + (key[1] == 'm' ? "," : "")));
            EXPECT_NE(problem.find("nest deeper"), std::string::npos) << levels << key << problem;
        }
    }
    // Reading an object of many keys takes linear, not quadratic time.
    std::string keys = "{\"";
    for (int k = 0; k < 200'000; ++k) {
        keys += "a" + std::to_string(k) + "\":0,\"";
    }
    EXPECT_EQ(problem_with(with(text, "{\"", keys)), "");
    const std::string novel(5000, 'x');
    EXPECT_LT(problem_with(with(text, "\"version\": 1", "\"version\": \"" + novel + "\"")).size(), 500u);
    EXPECT_NE(problem_with(with(text, "ZeRO 3", "ZeRO 3" + novel)).find("more than"), std::string::npos);
}

TEST(Manifest, ManyPiecesOfOneTensorAreHeldAgainstEachOtherInNoTime) {
    // Split along the last dim, as by tensor ranks: comparing all pairs would take 10^10 comparisons.
    const std::int64_t count = 100'000;
    Manifest manifest = example();
    manifest.pieces.clear();
    manifest.files = {{"shard-00000.h5", 20 * count, 1}};
    for (std::int64_t k = 0; k < count; ++k) {
        const Piece piece{PieceKind::weights, "w", {1, count}, spec::DType::f32, {{0, k}, {1, 1}}};
        manifest.pieces.push_back({piece, 0, 4 * k, 4 * count + 8 * k, 7});
    }
    EXPECT_EQ(parse_manifest(to_text(manifest), "x").pieces.size(), static_cast<std::size_t>(count));
    manifest.pieces.front().piece.box.begin[1] = count - 1;
    EXPECT_NE(problem_with(to_text(manifest)).find("overlap"), std::string::npos);
}

TEST(Manifest, NothingInItSteersATerminal) {
    const std::string text = to_text(example());
    const std::string steering = "\\u001b[31m";
    for (const char* words :
         {"ZeRO 3", "layers.0.w", "shard-00001.h5", "0.1.0", "\"f32\"", "ziggurat-checkpoint"}) {
        const bool is_whole = words[0] == '"';
        const std::string problem =
            problem_with(with(text, words, is_whole ? "\"" + steering + "\"" : words + steering));
        EXPECT_NE(problem, "") << words;
        EXPECT_EQ(problem.find('\x1b'), std::string::npos) << problem;
    }
}

TEST(Manifest, AnyTextIsReadOrRefused) {
    Draw draw{4};
    const std::string text = to_text(example());
    const std::vector<char> alphabet = [] {
        const std::string_view letters{"{}[]\",:0123456789-.eE truefalsn\\u\xff\x00"};
        return std::vector<char>{letters.begin(), letters.end()};
    }();
    int read = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string damaged = text;
        for (std::int64_t k = draw.between(1, 4); k > 0; --k) {
            const auto at = static_cast<std::size_t>(draw.between(0, std::ssize(damaged) - 40));
            const auto count = static_cast<std::size_t>(draw.between(0, 3));
            damaged.replace(at, count, 1, draw.one_of(alphabet));
        }
        read += problem_with(rehashed(damaged)).empty() ? 1 : 0;
    }
    EXPECT_GT(read, 0) << "some changes of free text are harmless";
    EXPECT_LT(read, 18'000);
    EXPECT_NE(problem_with(rehashed(std::string(200'000, '[') + "\"xxh3\": \"0\"}\n")), "");
    EXPECT_NE(problem_with(""), "");
}

TEST(Manifest, TextThatIsNoUnicodeIsReplacedRatherThanRefused) {
    Manifest manifest = example();
    manifest.deck = "broken \xff byte";
    EXPECT_EQ(parse_manifest(to_text(manifest), "x").deck, "broken \xef\xbf\xbd byte");
}

TEST(Manifest, OfAnOlderProgramHasNoDataFiles) {
    Manifest older = example();
    older.data.clear();
    const std::string text = to_text(older);
    EXPECT_EQ(parse_manifest(with(text, "\"data\": [],\n", ""), "x"), older);
}

TEST(Manifest, DataFilesAreBounded) {
    const std::string text = to_text(example());
    EXPECT_NE(
        problem_with(with(text, R"("bytes":5000,"hashed_bytes":5000)", R"("bytes":-1,"hashed_bytes":5000)")),
        "");
    EXPECT_NE(problem_with(with(text, R"("hashed_bytes":5000)", R"("hashed_bytes":5001)")), "");
    EXPECT_NE(problem_with(with(text, R"("hashed_bytes":5000)", R"("hashed_bytes":"5000")")), "");
    EXPECT_NE(problem_with(with(text, R"("path":"text.txt")", R"("path":"text\u001b[2Jtxt")")), "");
}

}  // namespace
}  // namespace ziggurat::checkpoint
