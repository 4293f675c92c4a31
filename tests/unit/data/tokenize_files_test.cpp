#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.hpp"
#include "data/tokenize/tokenize_files.hpp"
#include "storage/io_error.hpp"
#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

using test::contents_of;
using ::testing::HasSubstr;

int faults_left = -1;  // file operations until one fails

int fail_once(const char*, std::int64_t, std::int64_t) {
    return faults_left-- == 0 ? ENOSPC : 0;
}

class TokenizeFiles : public ::testing::Test {
  protected:
    TokenizeFiles() { make_inputs(40'000, 3'000'000); }
    ~TokenizeFiles() override { storage::set_write_fault(nullptr); }

    void make_inputs(int num_lines, std::size_t bytes_of_last) {
        std::string lines;
        for (int i = 0; i < num_lines; ++i) {
            lines += R"({"text": "line )" + std::to_string(i) + " " + std::string(60, 'x') + "\"}\n\n";
        }
        inputs_ = {write("a.txt", "first"),
                   write("empty.txt", ""),
                   write("b.jsonl", lines),
                   write("empty.jsonl", ""),
                   write("c.jsonl", R"({"text": "no newline"})"),
                   write("d.txt", std::string(bytes_of_last, 'd'))};
    }

    std::string write(const std::string& name, const std::string& text) {
        std::ofstream{folder_ / name, std::ios::binary} << text;
        return folder_ / name;
    }
    TokenizeResult run(const std::string& name, int threads) {
        return tokenize_files({.inputs = inputs_,
                               .name = folder_ / name,
                               .format = format_,
                               .threads = threads,
                               .seconds_between_records = seconds_between_records_},
                              *make_byte_tokenizer(), [](std::int64_t, std::int64_t) {});
    }
    std::string bytes_of(const std::string& name) {
        return contents_of(folder_ / (name + ".bin")) + contents_of(folder_ / (name + ".idx"));
    }

    test::ScratchFolder folder_;
    std::vector<std::string> inputs_;
    spec::TokenFormat format_ = spec::TokenFormat::megatron;
    double seconds_between_records_ = 0.2;
};

TEST_F(TokenizeFiles, ContinueWhereTheyWereStopped) {
    run("whole", 2);
    int batches = 0;  // of one start
    const auto stop = [&] {
        if (batches == 2) {
            throw Stopped{"stopped"};
        }
    };
    int stops = 0;
    std::int64_t earlier = -1;
    for (bool is_done = false; !is_done; ++stops) {
        ASSERT_LT(stops, 100);
        batches = 0;
        try {
            const auto made =
                tokenize_files({.inputs = inputs_,
                                .name = folder_ / "stopped",
                                .format = format_,
                                .threads = 1,
                                .seconds_between_records = 1e9,
                                .stop = stop},
                               *make_byte_tokenizer(), [&](std::int64_t, std::int64_t) { ++batches; });
            earlier = made.earlier_bytes;
            is_done = true;
        } catch (const Stopped&) {
            EXPECT_FALSE(std::filesystem::exists(folder_ / "stopped.bin")) << "it would look complete";
        }
    }
    EXPECT_GT(stops, 1);
    EXPECT_GT(earlier, 0) << "the texts before a stop are not encoded again";
    EXPECT_EQ(bytes_of("stopped"), bytes_of("whole"));
}

TEST_F(TokenizeFiles, KeepDocumentsInTheirOrderWithAnyNumberOfThreads) {
    const auto made = run("one", 1);
    EXPECT_EQ(4 + 40'000, made.written.documents);
    const auto tokens = contents_of(folder_ / "one.bin");
    EXPECT_EQ(2 * made.written.tokens, std::ssize(tokens));
    std::string text;
    for (std::size_t i = 0; i < tokens.size(); i += 2) {
        text += tokens[i];
    }
    std::string expected = "first";
    for (int i = 0; i < 40'000; ++i) {
        expected += "line " + std::to_string(i) + " " + std::string(60, 'x');
    }
    EXPECT_EQ(expected + "no newline" + std::string(3'000'000, 'd'), text);
    for (const int threads : {2, 7}) {
        const auto name = std::to_string(threads);
        run(name, threads);
        EXPECT_EQ(bytes_of("one"), bytes_of(name));
    }
}

TEST_F(TokenizeFiles, GoOnAfterTheDiskHasFailedAtAnyPoint) {
    make_inputs(400, 50'000);
    write("a.txt", std::string(1'100'000, 'a'));  // one batch; the rest is another one
    seconds_between_records_ = 0;
    for (const auto format : {spec::TokenFormat::megatron, spec::TokenFormat::llmc}) {
        format_ = format;
        const std::string whole = format == spec::TokenFormat::llmc ? "whole_llmc" : "whole";
        run(whole, 1);
        int failures = 0;
        for (bool has_ended = false; !has_ended; ++failures) {
            const auto name = whole + std::to_string(failures);
            faults_left = failures;
            storage::set_write_fault(fail_once);
            try {
                run(name, 1);
                has_ended = true;
            } catch (const Error& error) {
                EXPECT_EQ(ErrorKind::resource, error.kind());
            }
            storage::set_write_fault(nullptr);
            if (!has_ended) {
                run(name, 1);
            }
            ASSERT_EQ(bytes_of(whole), bytes_of(name)) << failures;
            EXPECT_FALSE(std::filesystem::exists(folder_ / (name + ".journal")));
            for (const std::string ending : {".bin", ".idx"}) {
                std::filesystem::remove(folder_ / (name + ending));
            }
        }
        EXPECT_GT(failures, 15);
    }
}

TEST_F(TokenizeFiles, RefuseInputsThatChangeAndFilesThatExist) {
    const auto mismatch = [&](const auto& progress) {
        return test::deck_error_of([&] {
            tokenize_files({.inputs = inputs_, .name = folder_ / "x"}, *make_byte_tokenizer(), progress);
        });
    };
    EXPECT_THAT(mismatch([&](std::int64_t, std::int64_t) { write("a.txt", "other"); }),
                HasSubstr("has changed while it was read"));
    EXPECT_THAT(mismatch([](std::int64_t, std::int64_t) {}), HasSubstr("started with other inputs"));
    std::filesystem::remove(folder_ / "x.journal");
    EXPECT_EQ("", mismatch([](std::int64_t, std::int64_t) {}));
    EXPECT_THAT(mismatch([](std::int64_t, std::int64_t) {}), HasSubstr("exists already"));
}

TEST_F(TokenizeFiles, LeaveNothingWhereNothingWasDone) {
    inputs_ = {write("bad.jsonl", "{\"text\": 5}\n")};
    EXPECT_THAT(test::deck_error_of([&] { run("x", 2); }), HasSubstr("line 1"));
    for (const auto& entry : std::filesystem::directory_iterator{folder_ / ""}) {
        EXPECT_FALSE(entry.path().filename().string().starts_with("x")) << entry.path();
    }
    write("x.journal", "{\"version of the journal\": 3, \"tokenizer\": \"another\"}\n");
    inputs_ = {write("good.jsonl", "{\"text\": \"b\"}\n")};
    EXPECT_EQ(run("x", 2).written.documents, 1) << "a journal without a record is in nobody's way";
}

TEST_F(TokenizeFiles, GoOnOnlyWithTheSameConfigurationKindAndEncoder) {
    make_inputs(400, 2'000'000);
    seconds_between_records_ = 0;
    faults_left = 9;
    storage::set_write_fault(fail_once);
    EXPECT_THROW(run("x", 1), Error);
    storage::set_write_fault(nullptr);
    ASSERT_TRUE(std::filesystem::exists(folder_ / "x.journal"));
    const auto refusal = [&](InputKind kind, std::uint64_t configuration) {
        return test::deck_error_of([&] {
            tokenize_files({.inputs = inputs_,
                            .kind = kind,
                            .name = folder_ / "x",
                            .format = format_,
                            .configuration = configuration},
                           *make_byte_tokenizer(), [](std::int64_t, std::int64_t) {});
        });
    };
    EXPECT_THAT(refusal(InputKind::text, 0), HasSubstr("it was started with other inputs"));
    EXPECT_THAT(refusal(InputKind::by_content, 5),
                HasSubstr("it was started with other configuration of the tokenizer"));
    auto journal = contents_of(folder_ / "x.journal");
    const std::string encoder = "\"version of the encoder\":";
    const auto at = journal.find(encoder);
    ASSERT_NE(at, std::string::npos);
    journal.insert(at + encoder.size(), "9");
    write("x.journal", journal);
    EXPECT_THAT(refusal(InputKind::by_content, 0),
                HasSubstr("it was started with other version of the encoder"));
}

TEST_F(TokenizeFiles, GoOnWithInputsThatChangeBehindTheRecord) {
    std::string lines;
    for (int i = 0; i < 60'000; ++i) {
        lines += R"({"text": "line )" + std::to_string(i) + " " + std::string(40, 'x') + "\"}\n";
    }
    const auto bad = lines.find("line 55000");
    auto broken = lines;
    broken[bad - 1] = ' ';
    inputs_ = {write("a.txt", "first"), write("b.json", broken)};
    EXPECT_THAT(test::deck_error_of([&] { run("x", 2); }), HasSubstr("b.json', line 55001: not JSON"));
    auto other = lines;
    other[lines.find("line 7 ")] = 'L';
    write("b.json", other);
    EXPECT_THAT(test::deck_error_of([&] { run("x", 2); }), HasSubstr("started with other inputs"));
    write("b.json", lines + "{\"text\": \"more\"}\n");
    inputs_.push_back(write("c.txt", "last"));
    const auto made = run("x", 2);
    EXPECT_GT(made.earlier_bytes, std::ssize(lines) / 2);
    EXPECT_EQ(1 + 60'000 + 2, made.written.documents);
    run("whole", 1);
    EXPECT_EQ(bytes_of("whole"), bytes_of("x"));
}

}  // namespace
}  // namespace ziggurat::data
