#include "data/samples/sample_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "data/samples/chat_source.hpp"
#include "tests/unit/data/sample_files.hpp"
#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

using test::deck_error_of;
using test::ScratchFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SampleFile, HoldsWhatWasWritten) {
    const ScratchFolder folder;
    SampleFileHeader header;
    {
        TemporaryFile output{folder / "a.samples"};
        SampleFileWriter writer{output};
        writer.add(std::vector<std::int32_t>{7, 8, 2147483647}, std::vector<std::uint8_t>{0, 1, 1});
        writer.add(std::vector<std::int32_t>{1, 2}, std::vector<std::uint8_t>{1, 0});
        EXPECT_FALSE(std::filesystem::exists(folder / "a.samples")) << "it is not complete";
        header =
            writer.complete({.loss_on = 1, .tokenizer_hash = 11, .template_hash = 12, .records_hash = 13});
    }
    const SampleFile file{folder / "a.samples", "key"};
    EXPECT_EQ(file.header(), header);
    EXPECT_EQ(file.num_samples(), 2);
    EXPECT_EQ(file.num_tokens(), 5);
    EXPECT_EQ(header.num_counted, 3);
    EXPECT_EQ(header.records_hash, 13u);
    std::vector<std::int32_t> ids(4);
    std::vector<std::uint8_t> counts(4);
    file.read(1, ids, counts);
    EXPECT_THAT(ids, ElementsAre(8, 2147483647, 1, 2));
    EXPECT_THAT(counts, ElementsAre(1, 1, 1, 0));
    EXPECT_EQ(file.begin_of(1), 3);
    EXPECT_EQ(file.begin_of(2), 5);
}

TEST(SampleFile, IsNotLeftByAWriterThatEndsEarly) {
    const ScratchFolder folder;
    {
        TemporaryFile output{folder / "a.samples"};
        SampleFileWriter{output}.add(std::vector<std::int32_t>{7, 8}, std::vector<std::uint8_t>{0, 1});
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder / "."));
}

TEST(SampleFile, IsRejectedIfItIsDamaged) {
    const ScratchFolder folder;
    test::write_samples(folder / "a.samples", {{{1, 2, 3}, {0, 1, 1}}, {{4, 5}, {0, 1}}});
    const auto whole = test::contents_of(folder / "a.samples");
    const auto error_of = [&](std::string bytes) {
        const auto path = folder.write("damaged", bytes);
        return deck_error_of([&] { SampleFile{path, "data.train[0].path"}; });
    };
    EXPECT_THAT(error_of("text that is no sample file"), HasSubstr("its first bytes are not ZGSAMPLE"));
    EXPECT_THAT(error_of(whole.substr(0, 20)), HasSubstr("shorter than the header"));
    EXPECT_THAT(error_of(whole.substr(0, whole.size() - 1)), HasSubstr("does not match its"));
    EXPECT_THAT(error_of(whole + "x"), HasSubstr("does not match its"));
    auto newer = whole;
    newer[8] = 3;
    EXPECT_THAT(error_of(newer), HasSubstr("version 3, this program reads 1 and 2"));
    auto many = whole;
    many[16 + 7] = 0x7f;  // the number of samples
    EXPECT_THAT(error_of(many), HasSubstr("does not match its"));
    auto shifted = whole;
    shifted[whole.size() - 16] = 4;  // the begin of the second sample, which then has one token
    EXPECT_THAT(error_of(shifted), HasSubstr("sample 2 begins at token 5"));
    auto late = whole;
    late[whole.size() - 24] = 1;  // the begin of the first sample
    EXPECT_THAT(error_of(late), HasSubstr("sample 0 begins at token 1"));
}

TEST(SampleFile, HasTheVersionOfItsSamples) {
    const ScratchFolder folder;
    test::write_samples(folder / "chats", {{{1, 2}, {0, 1}}, {{1, 3}, {0, 1}}});
    test::write_pairs(folder / "pairs", {{{1, 2}, {0, 1}}, {{1, 3}, {0, 1}}});
    EXPECT_FALSE((SampleFile{folder / "chats", "key"}.header().has_pairs()));
    EXPECT_TRUE((SampleFile{folder / "pairs", "key"}.header().has_pairs()));
    auto bytes = test::contents_of(folder / "chats");
    EXPECT_EQ(bytes[8], 1);
    bytes[8] = 2;
    EXPECT_EQ(bytes, test::contents_of(folder / "pairs"));

    test::write_samples(folder / "odd", {{{1, 2}, {0, 1}}});
    bytes = test::contents_of(folder / "odd");
    bytes[8] = 2;
    const auto odd = folder.write("odd", bytes);
    EXPECT_THAT(deck_error_of([&] {
                    SampleFile{odd, "key"};
                }),
                HasSubstr("its header counts 1 samples, but pairs have an even number"));
}

TEST(ChatSource, HasFilesOfOneKind) {
    const ScratchFolder folder;
    test::write_samples(folder / "a", {{{1, 2}, {0, 1}}});
    test::write_pairs(folder / "b", {{{1, 2}, {0, 1}}, {{1, 3}, {0, 1}}});
    EXPECT_EQ((ChatSource{{folder / "b", folder / "b"}, "key"}.num_pairs()), 2);
    EXPECT_EQ((ChatSource{{folder / "a"}, "key"}.num_pairs()), 0);
    EXPECT_THAT(
        deck_error_of([&] {
            ChatSource({folder / "a", folder / "b"}, "key");
        }),
        ::testing::AllOf(HasSubstr("a' holds conversations, and '"), HasSubstr("b' holds pairs of answers")));
}

TEST(ChatSource, ConcatenatesFilesAndNeverCountsTheFirstTokenOfASample) {
    const ScratchFolder folder;
    test::write_samples(folder / "a", {{{1, 2, 3}, {1, 1, 0}}, {{4, 5}, {1, 1}}});
    test::write_samples(folder / "b", {{{6, 7, 8, 9}, {1, 0, 1, 1}}});
    const ChatSource source{{folder / "a", folder / "b"}, "key"};

    EXPECT_EQ(source.num_tokens(), 9);
    EXPECT_EQ(source.num_samples(), 3);
    EXPECT_EQ(source.begin_of(2), 5);
    EXPECT_EQ(source.begin_of(3), 9);
    std::vector<std::int32_t> ids(6);
    std::vector<std::uint8_t> flags(6);
    source.read(2, ids);
    EXPECT_THAT(ids, ElementsAre(3, 4, 5, 6, 7, 8));
    source.mark_document_starts(2, flags);
    EXPECT_THAT(flags, ElementsAre(0, 1, 0, 1, 0, 0));
    source.mark_counted(2, flags);
    EXPECT_THAT(flags, ElementsAre(0, 0, 1, 0, 0, 1));
    EXPECT_THAT(source.location_of(8), HasSubstr("token 3 of sample 0 of '"));
    EXPECT_EQ(source.files().size(), 2u);
    EXPECT_DOUBLE_EQ(source.counted_share(), 7.0 / 9);
}

TEST(ChatSource, RejectsFilesOfDifferentTokenizers) {
    const ScratchFolder folder;
    test::write_samples(folder / "a", {{{1, 2}, {0, 1}}}, 1);
    test::write_samples(folder / "b", {{{1, 2}, {0, 1}}}, 2);
    EXPECT_THAT(deck_error_of([&] {
                    ChatSource({folder / "a", folder / "b"}, "key");
                }),
                HasSubstr("token ids of different tokenizers"));
}

}  // namespace
}  // namespace ziggurat::data
