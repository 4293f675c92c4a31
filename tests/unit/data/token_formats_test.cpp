#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/llmc_source.hpp"
#include "data/megatron_source.hpp"
#include "data/raw_source.hpp"
#include "data/text_source.hpp"
#include "data/token_source.hpp"
#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

using test::deck_error_of;
using test::little;
using test::llmc_file;
using test::megatron_index;
using test::ScratchFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<std::int32_t> all_tokens(const TokenSource& source) {
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(source.num_tokens()));
    source.read(0, tokens);
    return tokens;
}

/// Checks that every window of every length agrees with the whole.
void expect_consistent_windows(const TokenSource& source) {
    const auto whole = all_tokens(source);
    for (std::int64_t begin = 0; begin < std::ssize(whole); ++begin) {
        for (std::int64_t end = begin; end <= std::ssize(whole); ++end) {
            std::vector<std::int32_t> window(static_cast<std::size_t>(end - begin));
            source.read(begin, window);
            EXPECT_EQ(std::vector(whole.begin() + begin, whole.begin() + end), window);
        }
    }
}

TEST(TextSource, GivesBytesOfAllFilesAsTokens) {
    const ScratchFolder folder;
    folder.write("1.txt", "A\xff");
    folder.write("2.txt", "z");

    const TextSource source{folder / "*.txt", "k"};

    EXPECT_EQ((std::vector<std::int32_t>{65, 255, 122}), all_tokens(source));
    EXPECT_EQ("position 0 of '" + (folder / "2.txt") + "'", source.location_of(2));
    EXPECT_FALSE(source.has_document_index());
    expect_consistent_windows(source);
}

TEST(TextSource, RefusesFilesWhoseBytesAreNotTheirText) {
    const ScratchFolder folder;
    const auto message = [&](const std::string& name, const std::string& bytes) {
        const auto path = folder.write(name, bytes);
        return deck_error_of([&] { TextSource{path, "k"}; });
    };
    EXPECT_THAT(
        message("a.txt", "\x1f\x8b\x08 packed"),
        AllOf(HasSubstr("a.txt' is not plain text (it is a gzip archive). Unpack it first: gzip -dk FILE. "
                        "Or: Run 'ziggurat tokenize "),
              HasSubstr("which unpacks it.")));
    EXPECT_THAT(message("b.zst", "\x28\xb5\x2f\xfd packed"), HasSubstr("zstd -d FILE"));
    EXPECT_THAT(message("c.txt", "BZh91AY packed"), HasSubstr("a bzip2 archive). Unpack it first: bzip2"));
    EXPECT_THAT(message("d.txt", "version https://git-lfs.github.com/spec/v1\n"), HasSubstr("git lfs pull"));
    EXPECT_THAT(message("e.txt",
                        "\xff\xfe"
                        "a"),
                HasSubstr("iconv -f UTF-16"));
    EXPECT_THAT(message("f.txt", "{\"text\": \"a\"}\n"), HasSubstr("each line is a JSON object"));
    EXPECT_EQ(message("g.txt", "<html> may be meant"), "");
    EXPECT_EQ(message("h.txt", "{text}\n"), "");
}

TEST(LlmcSource, ReadsTheGpt2TestVector) {
    const ScratchFolder folder;
    const auto bytes = llmc_file<std::uint16_t>(20240520, 1, {1, 2, 3, 50256});
    ASSERT_EQ(1032u, bytes.size());
    ASSERT_EQ(test::from_hex("88d834010100000004000000"), bytes.substr(0, 12));

    const LlmcSource source{folder.write("x.bin", bytes), "k"};

    EXPECT_EQ((std::vector<std::int32_t>{1, 2, 3, 50256}), all_tokens(source));
}

TEST(LlmcSource, JoinsShardsOfBothKinds) {
    const ScratchFolder folder;
    folder.write("a_0.bin", llmc_file<std::uint16_t>(20240520, 1, {1, 65535, 3}));
    folder.write("a_1.bin", llmc_file<std::uint32_t>(20240801, 7, {128000, 5, 4294967295u}));
    folder.write("a_2.bin", llmc_file<std::uint32_t>(20240801, 7, {}));
    folder.write("a_3.bin", llmc_file<std::uint16_t>(20240520, 1, {6}));

    const LlmcSource source{folder / "a_*.bin", "k"};

    EXPECT_EQ((std::vector<std::int32_t>{1, 65535, 3, 128000, 5, -1, 6}), all_tokens(source));
    EXPECT_EQ("position 1 of '" + (folder / "a_1.bin") + "'", source.location_of(4));
    EXPECT_EQ("position 0 of '" + (folder / "a_3.bin") + "'", source.location_of(6));
    expect_consistent_windows(source);
}

TEST(LlmcSource, RefusesWhatItIsNotAndSaysWhatWasSeen) {
    const ScratchFolder folder;
    const auto message = [&](const std::string& bytes) {
        const auto path = folder.write("x.bin", bytes);
        return deck_error_of([&] { LlmcSource{path, "data.train[0].path"}; });
    };
    const auto good = llmc_file<std::uint16_t>(20240520, 1, {1, 2, 3});

    EXPECT_THAT(message("In the beginning"), HasSubstr("16 bytes, shorter than the header"));
    EXPECT_THAT(message(std::string(2000, 'a')), HasSubstr("its first number is 1633771873, not 20240520"));
    EXPECT_THAT(message(llmc_file<std::uint16_t>(20240522, 1, {1})),
                HasSubstr("an evaluation file of llm.c"));
    EXPECT_THAT(message(llmc_file<std::uint16_t>(20240326, 3, {1})), HasSubstr("a model file of llm.c"));
    EXPECT_THAT(message(llmc_file<std::uint16_t>(20240520, 2, {1})), HasSubstr("version 2, not 1"));
    EXPECT_THAT(message(good + "x"),
                HasSubstr("3 tokens of 2 bytes, which makes 1030 bytes, but it has 1031"));
    EXPECT_THAT(message(good.substr(0, 1029)), HasSubstr("but it has 1029"));
    EXPECT_THAT(message(llmc_file<std::uint16_t>(20240520, 1, {})), HasSubstr("holds no tokens"));
}

TEST(LlmcSource, SaysWhatFilesWithoutItsHeaderLookLike) {
    const ScratchFolder folder;
    const auto message = [&](const std::string& bytes) {
        const auto path = folder.write("train.bin", bytes);
        return deck_error_of([&] { LlmcSource{path, "data.train[0].path"}; });
    };
    std::string narrow;
    std::string wide;
    for (std::uint32_t i = 0; i < 3000; ++i) {
        narrow += little(static_cast<std::uint16_t>(i * 7919 % 50257));
        wide += little(i * 7919 % 128256);
    }

    EXPECT_THAT(message(narrow),
                HasSubstr("; it looks like bare token numbers of 16 bits). Use {format: raw, "
                          "dtype: uint16}."));
    EXPECT_THAT(message(wide), HasSubstr("of 32 bits). Use {format: raw, dtype: uint32}."));
    EXPECT_THAT(message(narrow.substr(0, 100)),
                HasSubstr("100 bytes, shorter than the header of 1024 bytes; it "
                          "looks like bare token numbers of 16 bits)"));
    EXPECT_THAT(message(std::string(2000, 'a')), HasSubstr("; it looks like text). Use format: text"));
    EXPECT_THAT(message("PK\x03\x04" + narrow), HasSubstr("; it begins like a zip archive)"));
    EXPECT_THAT(message(std::string(2000, '\xff')), HasSubstr("). Name files written by llm.c"));
}

TEST(RawSource, ReadsTheNumbersOfAllFiles) {
    const ScratchFolder folder;
    folder.write("1.bin", little(std::uint16_t{50256}) + little(std::uint16_t{464}));
    folder.write("2.bin", little(std::uint16_t{65535}));
    folder.write("wide", little(std::uint32_t{128000}) + little(std::uint32_t{4294967295U}));

    const RawSource narrow{folder / "?.bin", spec::RawType::uint16, "k"};
    const RawSource wide{folder / "wide", spec::RawType::uint32, "k"};

    EXPECT_EQ((std::vector<std::int32_t>{50256, 464, 65535}), all_tokens(narrow));
    EXPECT_EQ("position 0 of '" + (folder / "2.bin") + "'", narrow.location_of(2));
    EXPECT_FALSE(narrow.has_document_index());
    EXPECT_EQ((std::vector<std::int32_t>{128000, -1}), all_tokens(wide));
    expect_consistent_windows(narrow);
}

TEST(RawSource, RefusesWhatIsNoWholeNumberOfTokensLong) {
    const ScratchFolder folder;
    const auto message = [&](int bytes, spec::RawType type) {
        const auto path = folder.write("x.bin", std::string(static_cast<std::size_t>(bytes), 'x'));
        return deck_error_of([&] { RawSource{path, type, "data.train[0].path"}; });
    };

    EXPECT_EQ("", message(8, spec::RawType::uint32));
    EXPECT_THAT(message(7, spec::RawType::uint16),
                HasSubstr("data.train[0].path: '" + (folder / "x.bin") +
                          "' is not a file of uint16 tokens (7 bytes are not a multiple of 2). Copy"));
    EXPECT_THAT(message(6, spec::RawType::uint32),
                HasSubstr("not a file of uint32 tokens (6 bytes are not a multiple of 4)"));
    EXPECT_THAT(message(0, spec::RawType::uint16), HasSubstr("an empty file"));
}

TEST(RawSource, TakesNoHeaderForTokens) {
    const ScratchFolder folder;
    const auto path = folder.write("x.bin", llmc_file<std::uint16_t>(20240520, 1, {1, 2}));
    EXPECT_THAT(
        deck_error_of([&] {
            RawSource{path, spec::RawType::uint16, "k"};
        }),
        HasSubstr("it begins with a header of llm.c, which would be read as tokens). Use format: llmc."));
}

/// Vector of two documents of one sequence each, lengths 3 and 2, uint16.
const char* const index_digits =
    "4d4d4944494458000001000000000000000802000000000000000300000000000000030000000200000000000000000000000600"
    "000000000000"
    "000000000000000001000000000000000200000000000000";

TEST(MegatronSource, ReadsTheTestVectorByAnyOfItsNames) {
    const ScratchFolder folder;
    folder.write("x.idx", test::from_hex(index_digits));
    folder.write("x.bin", test::from_hex("0a000b0050c40c0050c4"));

    for (const char* name : {"x", "x.bin", "x.idx"}) {
        const MegatronSource source{folder / name, "k"};

        EXPECT_EQ((std::vector<std::int32_t>{10, 11, 50256, 12, 50256}), all_tokens(source));
        EXPECT_EQ(2, source.num_documents());
        EXPECT_EQ(0, source.document_begin(0));
        EXPECT_EQ(3, source.document_begin(1));
        EXPECT_EQ(5, source.document_begin(2));
    }
    EXPECT_EQ(test::from_hex(index_digits), megatron_index(8, 2, {{3}, {2}}));
}

template <class Stored>
void expect_reads_type(std::uint8_t code) {
    const ScratchFolder folder;
    folder.write("x.idx", megatron_index(code, sizeof(Stored), {{1, 2}, {1}}));
    folder.write("x.bin", little(Stored{1}) + little(Stored{2}) + little(Stored{127}) + little(Stored{0}));

    const MegatronSource source{folder / "x", "k"};

    EXPECT_EQ((std::vector<std::int32_t>{1, 2, 127, 0}), all_tokens(source)) << "code " << int{code};
    expect_consistent_windows(source);
}

TEST(MegatronSource, ReadsEveryIntegerType) {
    expect_reads_type<std::uint8_t>(1);
    expect_reads_type<std::int8_t>(2);
    expect_reads_type<std::int16_t>(3);
    expect_reads_type<std::int32_t>(4);
    expect_reads_type<std::int64_t>(5);
    expect_reads_type<std::uint16_t>(8);
}

TEST(MegatronSource, MarksDocumentsInAnyWindowEmptyOnesToo) {
    const ScratchFolder folder;
    // Documents of 3, 0 (no sequence), 4 (two sequences), 0 (an empty sequence), 1 and 0 tokens.
    const std::vector<std::vector<std::int32_t>> documents{{3}, {}, {1, 3}, {0}, {1}, {}};
    folder.write("x.idx", megatron_index(1, 1, documents));
    folder.write("x.bin", "abcdefgh");
    const MegatronSource source{folder / "x", "k"};
    const std::vector<std::uint8_t> whole{1, 0, 0, 1, 0, 0, 0, 1};

    for (std::size_t begin = 0; begin < whole.size(); ++begin) {
        for (std::size_t end = begin; end <= whole.size(); ++end) {
            std::vector<std::uint8_t> starts(end - begin, 9);

            source.mark_document_starts(static_cast<std::int64_t>(begin), starts);

            EXPECT_EQ(std::vector(whole.begin() + static_cast<std::ptrdiff_t>(begin),
                                  whole.begin() + static_cast<std::ptrdiff_t>(end)),
                      starts);
        }
    }
}

TEST(MegatronSource, RefusesBrokenPairsAndSaysWhatWasSeen) {
    const ScratchFolder folder;
    const std::string tokens = test::from_hex("0a000b0050c40c0050c4");
    const auto message = [&](const std::string& index, const std::string& bin) {
        folder.write("x.idx", index);
        folder.write("x.bin", bin);
        return deck_error_of([&] { MegatronSource{folder / "x", "data.train[0].path"}; });
    };
    const auto good = test::from_hex(index_digits);
    const auto patched = [&](std::size_t at, const std::string& bytes) {
        auto index = good;
        index.replace(at, bytes.size(), bytes);
        return index;
    };

    EXPECT_EQ("", message(good, tokens));
    EXPECT_EQ("", message(good + "ab", tokens)) << "a byte of mode per sequence is allowed";
    EXPECT_THAT(message(good.substr(0, 20), tokens), HasSubstr("20 bytes, shorter than its header"));
    EXPECT_THAT(message(patched(0, "X"), tokens), HasSubstr("does not begin with 'MMIDIDX'"));
    EXPECT_THAT(message(patched(9, little(std::uint64_t{2})), tokens), HasSubstr("version 2, not 1"));
    EXPECT_THAT(message(patched(17, "\x07"), tokens), HasSubstr("token type code is 7"));
    EXPECT_THAT(message(patched(18, little(std::uint64_t{3})), tokens),
                HasSubstr("3 sequences and 3 document"));
    EXPECT_THAT(message(patched(18, little(~std::uint64_t{0})), tokens),
                HasSubstr("does not fit its 82 bytes"));
    EXPECT_THAT(message(patched(26, little(std::uint64_t{1} << 62)), tokens),
                HasSubstr("does not fit its 82 bytes"));
    EXPECT_THAT(message(patched(34, little(std::int32_t{-3})), tokens), HasSubstr("sequence 0 of -3 tokens"));
    EXPECT_THAT(message(patched(50, little(std::int64_t{8})), tokens), HasSubstr("begins at byte 8"));
    EXPECT_THAT(message(patched(66, little(std::int64_t{5})), tokens),
                HasSubstr("document 1 begins at sequence 5"));
    EXPECT_THAT(message(patched(74, little(std::int64_t{1})), tokens), HasSubstr("documents do not end"));
    EXPECT_THAT(message(good, tokens + "x"), HasSubstr("end at byte 10, but"));
    EXPECT_THAT(message(good, ""), HasSubstr("x.bin' (an empty file"));
    std::filesystem::remove(folder / "x.bin");
    EXPECT_THAT(deck_error_of([&] { MegatronSource{folder / "x", "k"}; }), HasSubstr("x.bin' (No such file"));
}

TEST(CheckVocabulary, NamesTheFirstOfTheWorstTokensAndItsPlace) {
    const ScratchFolder folder;
    std::vector<std::uint32_t> tokens(200'000, 7);
    tokens[70'001] = 999;
    tokens[150'003] = 1000;
    tokens[150'004] = 1000;
    const auto path = folder.write("x.bin", llmc_file(20240801, 7, tokens));
    const LlmcSource source{path, "k"};
    const auto message = [&](std::int64_t begin, std::int64_t end, std::int64_t vocab) {
        return deck_error_of([&] { check_vocabulary(source, begin, end, vocab, "data.train[0].path"); });
    };

    EXPECT_EQ("", message(0, 200'000, 1001));
    EXPECT_EQ("", message(0, 150'003, 1000));
    EXPECT_THAT(message(0, 150'003, 999), HasSubstr("token 999 at position 70001 of '" + path + "'"));
    EXPECT_THAT(message(0, 200'000, 1000),
                HasSubstr("data.train[0].path: token 1000 at position 150003 of '" + path +
                          "' is not in the vocabulary (model.vocab = 1000, ids 0 to 999)"));
}

TEST(CheckVocabulary, RefusesNegativeIdsAsTheWorst) {
    const ScratchFolder folder;
    folder.write("x.idx", megatron_index(4, 4, {{3}}));
    folder.write("x.bin", little(std::int32_t{5}) + little(std::int32_t{-7}) + little(std::int32_t{100}));
    const MegatronSource source{folder / "x", "k"};

    EXPECT_THAT(deck_error_of([&] { check_vocabulary(source, 0, 3, 50, "k"); }),
                HasSubstr("token -7 at position 1"));
}

}  // namespace
}  // namespace ziggurat::data
