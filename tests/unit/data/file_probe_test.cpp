#include "data/file_probe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

using test::little;
using test::ScratchFolder;
using ::testing::HasSubstr;

FileProbe look_of(const std::string& bytes) {
    return probe_content(std::as_bytes(std::span{bytes}));
}

/// Returns `count` numbers of `Stored` below `vocab`, distributed as in texts: small ones are more
/// frequent.
template <class Stored>
std::string tokens_below(std::uint32_t vocab, int count) {
    std::mt19937 random{7};
    std::string bytes;
    for (int i = 0; i < count; ++i) {
        const auto share = std::uniform_real_distribution<double>{}(random);
        bytes += little(static_cast<Stored>(share * share * vocab));
    }
    return bytes;
}

std::string random_bytes(int count) {
    std::mt19937 random{5};
    std::string bytes;
    for (int i = 0; i < count; ++i) {
        bytes += static_cast<char>(random());
    }
    return bytes;
}

std::string repeated(const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) {
        all += text;
    }
    return all;
}

TEST(FileProbe, KnowsTextInUtf8) {
    for (const auto& text :
         {std::string{"In the"}, repeated("naïve œuvre — 中文 и так далее 🏽\n", 900),
          repeated("a\tb\r\n\f", 4000), repeated("caf\xe9 au lait ", 100)}) {
        EXPECT_TRUE(look_of(text).is_text) << text.substr(0, 40);
        EXPECT_EQ(look_of(text).what, "text");
    }
}

TEST(FileProbe, KnowsBareTokenNumbers) {
    for (const std::uint32_t vocab : {4U, 65U, 300U, 50257U, 60000U}) {
        EXPECT_EQ(look_of(tokens_below<std::uint16_t>(vocab, 9000)).numbers, spec::RawType::uint16) << vocab;
    }
    for (const std::uint32_t vocab : {65U, 50257U, 128256U, 1000000U}) {
        EXPECT_EQ(look_of(tokens_below<std::uint32_t>(vocab, 5000)).numbers, spec::RawType::uint32) << vocab;
    }
}

TEST(FileProbe, ClaimsNothingOfOtherBytes) {
    const auto probed = look_of(random_bytes(40000));
    EXPECT_EQ(probed.what, "");
    EXPECT_EQ(probed.numbers, std::nullopt);
    EXPECT_LT(probed.share_of_text, 0.5);
    EXPECT_EQ(look_of("\x01").what, "");
}

TEST(FileProbe, KnowsFilesByTheirBeginnings) {
    for (const auto& [beginning, what] :
         {std::pair<std::string, std::string>{"\x1f\x8b\x08", "a gzip archive"},
          {"PK\x03\x04", "a zip archive"},
          {"\x28\xb5\x2f\xfd", "a zstd archive"},
          {"PAR1", "a Parquet file"},
          {little(std::int32_t{20240520}), "a token file of llm.c"},
          {little(std::int32_t{20240326}), "a model file of llm.c"},
          {std::string{"MMIDIDX\0\0", 9}, "an index of Megatron-LM"}}) {
        const auto probed = look_of(beginning + random_bytes(100));
        EXPECT_EQ(probed.what, what);
        EXPECT_TRUE(probed.is_certain) << what;
    }
}

class Doubts : public ::testing::Test {
  protected:
    std::optional<FormatWarning> of(const std::string& bytes,
                                    spec::TokenFormat format,
                                    spec::RawType type = {}) {
        const spec::Source source{.format = format, .path = folder_.write("file", bytes), .raw_type = type};
        return check_format(source, *open_source(source, "k"));
    }
    std::string about_text(const std::string& bytes) {
        const auto doubt = of(bytes, spec::TokenFormat::text);
        return doubt ? doubt->reason + ". " + doubt->remedy : "";
    }
    std::string about_numbers(const std::string& bytes, spec::RawType type) {
        const auto doubt = of(bytes, spec::TokenFormat::raw, type);
        return doubt ? doubt->reason + ". " + doubt->remedy : "";
    }

    ScratchFolder folder_;
};

TEST_F(Doubts, AreWhatIsReadAsTextAndIsNone) {
    EXPECT_EQ(about_text(repeated("In the beginning\n", 2000)), "");
    EXPECT_THAT(
        about_text(tokens_below<std::uint16_t>(50257, 9000)),
        HasSubstr("of its first 16384 bytes are not UTF-8 text; it looks like bare token numbers of 16 "
                  "bits. Use {format: raw, dtype: uint16}."));
    EXPECT_THAT(about_text(tokens_below<std::uint16_t>(65, 9000)), HasSubstr("dtype: uint16"))
        << "of characters";
    EXPECT_THAT(about_text(random_bytes(500)), HasSubstr("of its first 500 bytes are not UTF-8 text. Name"));
    EXPECT_EQ(
        about_text("<!DOCTYPE html><p>a page"),
        "it begins like a web page, which a server may send instead of the file. Fetch the file again, with "
        "its direct address and the required access.");
    EXPECT_THAT(about_text(test::llmc_file<std::uint16_t>(20240520, 1, {1, 2})),
                HasSubstr("Use format: llmc."));
}

TEST_F(Doubts, AreOfEachFileOfAPattern) {
    folder_.write("1.txt", "text");
    folder_.write("2.txt", random_bytes(100));
    const spec::Source source{.path = folder_ / "?.txt"};
    const auto doubt = check_format(source, *open_source(source, "k"));
    ASSERT_TRUE(doubt);
    EXPECT_EQ(doubt->path, folder_ / "2.txt");
}

TEST_F(Doubts, AreWhatIsReadAsNumbersAndIsNone) {
    using enum spec::RawType;
    EXPECT_EQ(about_numbers(tokens_below<std::uint16_t>(50257, 9000), uint16), "");
    EXPECT_EQ(about_numbers(tokens_below<std::uint32_t>(128256, 9000), uint32), "");
    EXPECT_EQ(about_numbers(random_bytes(500), uint16), "") << "an id may be any number";
    EXPECT_THAT(about_numbers(tokens_below<std::uint32_t>(128256, 9000), uint16),
                HasSubstr("bare token numbers of 32 bits. Use {format: raw, dtype: uint32}."));
    EXPECT_THAT(about_numbers(tokens_below<std::uint16_t>(50257, 9000), uint32), HasSubstr("dtype: uint16"));
    EXPECT_THAT(about_numbers(repeated("In the beginning\n", 100), uint16),
                HasSubstr("it looks like text. Use"));
    EXPECT_THAT(about_numbers("PK\x03\x04" + random_bytes(500), uint16), HasSubstr("it begins like a zip"));
}

std::string numbers_of(const std::string& text) {
    std::string bytes;
    for (const char c : text) {
        bytes += little(static_cast<std::uint16_t>(static_cast<unsigned char>(c)));
    }
    return bytes;
}

TEST_F(Doubts, DoNotTakeNumbersForTextInUtf16) {
    using enum spec::RawType;
    const auto bytes_of_json = numbers_of(R"({"ids": [1, 2]})");
    EXPECT_EQ(look_of(bytes_of_json).what, "text in UTF-16");
    EXPECT_EQ(about_numbers(bytes_of_json, uint16), "");
    EXPECT_EQ(about_numbers(bytes_of_json + tokens_below<std::uint16_t>(50257, 9000), uint16), "");
    const auto wide = little(std::uint32_t{0xfeff}) + tokens_below<std::uint32_t>(128256, 900);
    EXPECT_EQ(about_numbers(wide, uint32), "") << "65279 is an id of a large vocabulary";
    EXPECT_THAT(about_numbers(little(std::uint16_t{0xfeff}) + bytes_of_json, uint16),
                HasSubstr("it begins like text in UTF-16"))
        << "no vocabulary of 16 bits uses its largest numbers";
}

TEST_F(Doubts, AreNotOfFilesThatSayWhatTheyAre) {
    EXPECT_FALSE(of(test::llmc_file<std::uint16_t>(20240520, 1, {1, 2}), spec::TokenFormat::llmc));
}

}  // namespace
}  // namespace ziggurat::data
