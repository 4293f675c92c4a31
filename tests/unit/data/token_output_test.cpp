#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "data/megatron_source.hpp"
#include "data/tokenize/journal.hpp"
#include "data/tokenize/json_line_field.hpp"
#include "data/tokenize/token_output.hpp"
#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

using spec::TokenFormat;
using test::contents_of;
using test::deck_error_of;
using test::from_hex;
using ::testing::HasSubstr;
using Ids = std::vector<std::int32_t>;
using Folder = test::ScratchFolder;

std::string packed(const Ids& ids, TokenType type) {
    std::string bytes;
    pack(ids, type, bytes);
    return bytes;
}

TEST(TokenLayout, HasRoomForTheVocabulary) {
    EXPECT_EQ(TokenType::uint16, layout_for(TokenFormat::llmc, 65536).type);
    EXPECT_EQ(TokenType::uint32, layout_for(TokenFormat::llmc, 65537).type);
    EXPECT_EQ(TokenType::uint16, layout_for(TokenFormat::megatron, 65536).type);
    EXPECT_EQ(TokenType::int32, layout_for(TokenFormat::megatron, 65537).type);
    EXPECT_EQ(from_hex("0a00ffff"), packed({10, 65535}, TokenType::uint16));
    EXPECT_EQ(from_hex("0a00000000000100"), packed({10, 65536}, TokenType::int32));
}

TEST(TokenOutput, WritesTheMegatronTestVector) {
    const Folder folder;
    const auto name = folder / "v";
    const TokenLayout layout{TokenFormat::megatron, TokenType::uint16};
    TokenOutput output{name, layout, {}};
    output.append(packed({10, 11, 50256}, layout.type), Ids{3});
    output.append(packed({12, 50256}, layout.type), Ids{2});
    output.flush();
    EXPECT_FALSE(std::filesystem::exists(name + ".bin"));
    complete_token_files(name, layout, output.written());

    EXPECT_EQ(
        from_hex(
            "4d4d4944494458000001000000000000000802000000000000000300000000000000030000000200000000000000"
            "000000000600000000000000000000000000000001000000000000000200000000000000"),
        contents_of(name + ".idx"));
    EXPECT_EQ(from_hex("0a000b0050c40c0050c4"), contents_of(name + ".bin"));
    EXPECT_EQ(2, std::distance(std::filesystem::directory_iterator{folder / ""}, {}));
    EXPECT_EQ(2, (MegatronSource{name, "k"}.num_documents()));
}

TEST(TokenOutput, GoesOnBehindWhatIsKept) {
    const Folder folder;
    const auto name = folder / "v";
    const TokenLayout layout{TokenFormat::llmc, TokenType::uint32};
    TokenOutput{name, layout, {}}.append(packed({1, 2, 3, 4}, layout.type), Ids{1, 3});
    TokenOutput output{name, layout, {1, 1}};
    output.append(packed({9}, layout.type), Ids{1});
    EXPECT_EQ((WrittenTokens{2, 2}), output.written());
    complete_token_files(name, layout, output.written());
    EXPECT_EQ(test::llmc_file<std::uint32_t>(20240801, 7, {1, 9}), contents_of(name + ".bin"));

    EXPECT_THAT(deck_error_of([&] {
                    TokenOutput(folder / "w", layout, {1, 1});
                }),
                HasSubstr("it has 0 bytes, but its journal records 1028"));
}

TEST(TokenOutput, IsNotContinuedIfItsBytesDiffer) {
    for (const auto format : {TokenFormat::llmc, TokenFormat::megatron}) {
        const Folder folder;
        const auto name = folder / "v";
        const TokenLayout layout{format, TokenType::uint16};
        std::uint64_t hash = 0;
        {
            TokenOutput output{name, layout, {}};
            output.append(packed({1, 2, 3, 4}, layout.type), Ids{1, 3});
            hash = output.hash();
        }
        EXPECT_EQ(TokenOutput(name, layout, {2, 4}, hash).hash(), hash);
        std::vector<std::string> files{"v.bin.tmp"};
        if (format == TokenFormat::megatron) {
            files.emplace_back("v.lengths.tmp");
        }
        for (const auto& file : files) {
            const auto whole = contents_of(folder / file);
            auto changed = whole;
            changed.back() ^= 1;
            folder.write(file, changed);
            EXPECT_THAT(deck_error_of([&] {
                            TokenOutput(name, layout, {2, 4}, hash);
                        }),
                        HasSubstr("are not those that its journal records"));
            EXPECT_NO_THROW(TokenOutput(name, layout, {2, 4})) << "a journal of an earlier version";
            folder.write(file, whole);
        }
    }
}

TEST(TokenizeJournal, IgnoresARecordThatWasChanged) {
    const Folder folder;
    const auto path = folder / "j";
    const JournalRecord first{.next = {0, 17}, .written = {3, 40}};
    {
        TokenizeJournal journal{path, "{}"};
        journal.append(first);
        journal.append({.next = {0, 27}, .written = {5, 60}});
    }
    const auto whole = contents_of(path);
    auto changed = whole;
    changed[whole.find("\"tokens\": 60") + 10] = '5';
    folder.write("j", changed);
    EXPECT_EQ(first, (TokenizeJournal{path, "{}"}.last()));
    auto earlier = whole;
    for (auto at = earlier.find(", \"check\""); at != std::string::npos; at = earlier.find(", \"check\"")) {
        earlier.erase(at, earlier.find('}', at) - at);
    }
    folder.write("j", earlier);
    EXPECT_EQ(60, (TokenizeJournal{path, "{}"}.last()->written.tokens)) << "a journal of an earlier version";
}

TEST(TokenOutput, CompletesWhatWasInterrupted) {
    const Folder folder;
    const auto name = folder / "v";
    const TokenLayout layout{TokenFormat::megatron, TokenType::uint16};
    TokenOutput output{name, layout, {}};
    output.append(packed({5, 6}, layout.type), Ids{1, 1});
    std::filesystem::rename(name + ".bin.tmp", name + ".bin");  // the first file that gets its final name
    complete_token_files(name, layout, output.written());
    const auto index = contents_of(name + ".idx");
    complete_token_files(name, layout, output.written());
    EXPECT_EQ(index, contents_of(name + ".idx"));
    EXPECT_EQ(2, (MegatronSource{name, "k"}.num_documents()));
}

TEST(TokenOutput, RefusesMoreThanLlmcCounts) {
    const Folder folder;
    const auto name = folder / "v";
    const TokenLayout layout{TokenFormat::llmc, TokenType::uint16};
    TokenOutput{name, layout, {}};
    constexpr std::int64_t max = 0xFFFFFFFF;
    std::filesystem::resize_file(name + ".bin.tmp", 1024 + 2 * max);  // sparse
    TokenOutput output{name, layout, {1, max}};
    EXPECT_THAT(deck_error_of([&] { output.append(packed({1}, layout.type), Ids{1}); }),
                HasSubstr("more than 4294967295 tokens"));
}

TEST(TokenizeJournal, KeepsTheLastWholeRecord) {
    const Folder folder;
    const auto path = folder / "j";
    const JournalRecord first{.next = {0, 17}, .written = {3, 40}};
    const JournalRecord second{.next = {2, 0},
                               .written = {7, 90},
                               .text_bytes = 17,
                               .skipped_lines = 2,
                               .hash = 0xffffffffffffffff,
                               .has_all = true};
    {
        TokenizeJournal journal{path, R"({"a": 1})"};
        EXPECT_EQ(std::nullopt, journal.last());
        journal.append(first);
        journal.append(second);
    }
    EXPECT_EQ(second, (TokenizeJournal{path, R"({"a": 1})"}.last()));
    const auto whole = contents_of(path);
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
        std::filesystem::resize_file(path, bytes);
        const auto lines =
            std::count(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes), '\n');
        {
            TokenizeJournal journal{path, R"({"a": 1})"};
            EXPECT_EQ(lines < 2 ? std::nullopt : std::optional{first}, journal.last());
            journal.append(second);  // replaces the truncated line
        }
        EXPECT_EQ(second, (TokenizeJournal{path, R"({"a": 1})"}.last()));
        std::ofstream{path, std::ios::binary} << whole;
    }
    EXPECT_THAT(deck_error_of([&] { TokenizeJournal(path, R"({"a": 2, "b": 1})"); }),
                HasSubstr("with other a and b"));
}

TEST(TokenizeJournal, OneProcessHoldsIt) {
    const Folder folder;
    TokenizeJournal journal{folder / "j", "{}"};
    EXPECT_THROW((TokenizeJournal{folder / "j", "{}"}), Error);
    journal.remove();
    EXPECT_FALSE(std::filesystem::exists(folder / "j"));
}

TEST(JsonLineField, IsThatOfTheOutermostObject) {
    EXPECT_EQ(
        "a\"\xc3\xa9",
        json_line_field(R"({"id": [1, {"text": "no"}], "text": "a\"\u00e9", "m": {"text": "no"}})", "text"));
    EXPECT_EQ("", json_line_field(R"({"text": ""})", "text"));
    EXPECT_EQ("2", json_line_field(R"({"text": "1", "text": "2"})", "text"));
    const auto mismatch = [](const char* line) {
        return deck_error_of([&] { json_line_field(line, "text"); });
    };
    for (const char* line : {R"({"text": 1})", R"({"text": null})", R"({"text": ["a"]})",
                             R"({"text": {"a": "b"}})", R"({"a": "text"})", R"(["text"])",
                             R"([{"text": "x"}])", R"("text")", R"({"text": "1", "text": 2})"}) {
        EXPECT_THAT(mismatch(line), HasSubstr("not an object with a text 'text'")) << line;
    }
    for (const char* line :
         {"{\"text\": \"\\ud800\"}", "{\"text\": \"a\\udc00\"}", "{\"text\": \"\\ud800\\ud800\"}"}) {
        EXPECT_THAT(mismatch(line), HasSubstr("a lone surrogate")) << line;
    }
    for (const char* line : {"{\"text\": \"a\"", "{\"text\": \"\xff\"}", "x", ""}) {
        EXPECT_THAT(mismatch(line), HasSubstr("not JSON")) << line;
    }
    EXPECT_THAT(mismatch(std::string(1'000'000, '[').c_str()), HasSubstr("not JSON"));
}

}  // namespace
}  // namespace ziggurat::data
