#include "data/chat/chat_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/chat/chat_template.hpp"
#include "data/chat/record_reader.hpp"
#include "tests/unit/data/token_files.hpp"
#include "tests/unit/data/tokenizer_files.hpp"

namespace ziggurat::data {
namespace {

using test::contents_of;
using test::deck_error_of;
using test::ScratchFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string chatml =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }};{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";

class SampleFiles : public ::testing::Test {
  protected:
    SampleFiles() {
        folder_.write("chat_template.jinja", chatml);
        tokenizer_ = open_tokenizer(folder_.write("tokenizer.json", test::tokenizer_json({}).dump()));
    }

    ChatJob job(const std::string& name, const std::string& records) {
        return {.inputs = {folder_.write(name, records)},
                .tokenizer = folder_ / "tokenizer.json",
                .output = folder_ / (name + ".samples")};
    }
    SampleFileHeader write(const ChatJob& job, const ChatReports& reports = {}) {
        return write_sample_file(job, *tokenizer_, reports);
    }

    ScratchFolder folder_;
    std::unique_ptr<const TextTokenizer> tokenizer_;
};

std::string record(const std::string& answer) {
    return R"({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": ")" + answer +
           "\"}]}";
}

std::string many_records() {
    std::string records;
    for (int i = 0; i < 900; ++i) {
        records += record(std::to_string(i) + std::string(900 + i % 50, 'x')) + "\n";
    }
    return records;
}

TEST_F(SampleFiles, HaveTokensMasksAndHashes) {
    const auto made = job("a.jsonl", record("one") + "\n\n" + R"({"text": "xyz"})" + "\n");
    std::vector<SpanMethod> methods;
    const auto header = write(made, {.has_method = [&](SpanMethod method) { methods.push_back(method); }});
    EXPECT_THAT(methods, ElementsAre(SpanMethod::prefix_rendering));
    const SampleFile file{made.output, "data.train[0].path"};
    EXPECT_EQ(file.header(), header);
    EXPECT_EQ(header.num_samples, 2);
    EXPECT_EQ(header.num_counted, 4 + 2);
    EXPECT_EQ(header.tokenizer_hash, tokenizer_->hash());
    EXPECT_EQ(header.template_hash, find_chat_template(folder_ / "", "").hash());
    EXPECT_EQ(header.loss_on, static_cast<std::int32_t>(spec::LossOn::assistant));
    std::vector<std::int32_t> ids(file.begin_of(1));
    std::vector<std::uint8_t> counts(ids.size());
    file.read(0, ids, counts);
    EXPECT_EQ((std::string{ids.begin(), ids.end()}), "<user>q;<assistant>one;");
    EXPECT_EQ(std::count(counts.begin(), counts.end(), 1), 4);
    EXPECT_EQ(counts[ids.size() - 4], 1);
}

TEST_F(SampleFiles, DoNotDependOnTheNumberOfThreads) {
    auto made = job("many.jsonl", many_records());
    const auto one = write(made);
    const auto bytes = contents_of(made.output);
    made.threads = 3;
    std::int64_t done = 0;
    EXPECT_EQ(write(made, {.progress = [&](std::int64_t bytes_done, std::int64_t) { done = bytes_done; }}),
              one);
    EXPECT_EQ(contents_of(made.output), bytes);
    EXPECT_EQ(one.num_samples, 900);
    EXPECT_EQ(done, std::ssize(many_records()));
}

TEST_F(SampleFiles, AreTheSameOfLinesAndOfAnArray) {
    const auto lines = job("lines.jsonl", record("a") + "\n" + record("b}]\\\\\\\"") + "\n");
    const auto array = job("array.json", "[\n" + record("a") + ",\n  " + record("b}]\\\\\\\"") + "\n]\n");
    write(lines);
    write(array);
    const SampleFile first{lines.output, ""};
    const SampleFile second{array.output, ""};
    ASSERT_EQ(first.num_tokens(), second.num_tokens());
    EXPECT_EQ(first.num_samples(), 2);
    std::vector<std::int32_t> ids(first.num_tokens());
    std::vector<std::int32_t> others(ids.size());
    std::vector<std::uint8_t> counts(ids.size());
    first.read(0, ids, counts);
    second.read(0, others, counts);
    EXPECT_EQ(ids, others);
}

TEST_F(SampleFiles, NameTheBadLineOrSkipIt) {
    auto made = job("bad.jsonl", record("a") + "\n" + R"({"messages": 3})" + "\n{\n" + record("b") + "\n");
    EXPECT_THAT(deck_error_of([&] { write(made); }), HasSubstr("bad.jsonl', line 2: field 'messages'"));
    EXPECT_FALSE(std::filesystem::exists(made.output));
    made.skips_bad_records = true;
    std::vector<std::int64_t> lines;
    const auto header = write(made, {.skipped = [&](const BadLine& bad) { lines.push_back(bad.line); }});
    EXPECT_EQ(header.num_samples, 2);
    EXPECT_THAT(lines, ElementsAre(2, 3));
}

std::string preference(const std::string& chosen, const std::string& rejected) {
    return R"({"instruction": "q", "chosen": ")" + chosen + R"(", "rejected": ")" + rejected + "\"}\n";
}

TEST_F(SampleFiles, HavePairsOfPreferences) {
    std::string records;
    for (int i = 0; i < 600; ++i) {
        records += preference(std::to_string(i) + std::string(400, 'x'), std::string(300, 'y'));
    }
    auto made = job("pairs.jsonl", records);
    const auto header = write(made);
    EXPECT_EQ(header.version, SampleFileHeader::pairs_version);
    EXPECT_EQ(header.num_samples, 1200);
    const auto bytes = contents_of(made.output);
    made.threads = 3;
    write(made);
    EXPECT_EQ(contents_of(made.output), bytes);
    const SampleFile file{made.output, "key"};
    ASSERT_TRUE(file.header().has_pairs());
    const auto begin = file.begin_of(2 * 77);
    std::vector<std::int32_t> ids(file.begin_of(2 * 77 + 2) - begin);
    std::vector<std::uint8_t> counts(ids.size());
    file.read(begin, ids, counts);
    EXPECT_EQ((std::string{ids.begin(), ids.end()}), "<user>q;<assistant>77" + std::string(400, 'x') +
                                                         ";<user>q;<assistant>" + std::string(300, 'y') +
                                                         ";");
    EXPECT_EQ(std::count(counts.begin(), counts.end(), 1), 403 + 301);
}

TEST_F(SampleFiles, AreOfOneKind) {
    auto made = job("mixed.jsonl", preference("a", "a") + preference("a", "b") + record("c") + "\n");
    EXPECT_THAT(deck_error_of([&] { write(made); }), HasSubstr("mixed.jsonl', line 1: the chosen and the"));
    made.skips_bad_records = true;
    std::vector<std::string> problems;
    const auto header = write(made, {.skipped = [&](const BadLine& bad) {
                                  problems.push_back(std::to_string(bad.line) + bad.problem.substr(0, 30));
                              }});
    EXPECT_EQ(header.num_samples, 2);
    EXPECT_THAT(problems, ElementsAre("1the chosen and the rejected an", "3the record is no preference, b"));

    auto chats = job("chats.jsonl", record("a") + "\n" + preference("a", "b") + "{\n");
    EXPECT_THAT(
        deck_error_of([&] { write(chats); }),
        HasSubstr("chats.jsonl', line 2: the record is a preference, but the records before it are no "
                  "preferences"));
    EXPECT_FALSE(std::filesystem::exists(chats.output));
}

TEST_F(SampleFiles, NameUnusedFieldsOnceWithTheirNumberOfRecords) {
    const auto with = [](const std::string& field) {
        return "{" + field + ", " + record("a").substr(1) + "\n";
    };
    auto made = job("fields.jsonl", with(R"("id": 1)") + with(R"("id": 2, "documents": [{"text": "d"}])") +
                                        R"({"id": 3, "text": 4})" + "\n" + with(R"("system": "SYS")"));
    made.skips_bad_records = true;
    made.threads = 2;
    std::vector<std::string> notes;
    write(made, {.note = [&](const std::string& note) { notes.push_back(note); }});
    ASSERT_EQ(notes.size(), 2U);
    EXPECT_THAT(notes[0], HasSubstr("fields.jsonl' that are not used: id (2 records)"));
    EXPECT_THAT(notes[1], HasSubstr("that the chat template does not mention: documents (1 record)"));
    const SampleFile file{made.output, "key"};
    std::vector<std::int32_t> ids(file.num_tokens() - file.begin_of(2));
    std::vector<std::uint8_t> counts(ids.size());
    file.read(file.begin_of(2), ids, counts);
    EXPECT_EQ((std::string{ids.begin(), ids.end()}), "<system>SYS;<user>q;<assistant>a;");
}

TEST_F(SampleFiles, DoNotSkipABadTemplate) {
    auto made = job("a.jsonl", record("a") + "\n");
    made.skips_bad_records = true;
    made.chat_template = folder_.write("bad.jinja", "{% if %}");
    EXPECT_THAT(deck_error_of([&] { write(made); }), HasSubstr("bad.jinja', line 1, fails"));
    made.chat_template = "none";
    EXPECT_THAT(deck_error_of([&] { write(made); }), HasSubstr("no chat template 'none'"));
}

TEST_F(SampleFiles, NeedNoTemplateForTexts) {
    auto made = job("texts.jsonl", R"({"text": "abc"})");
    made.tokenizer.clear();
    made.engine.pythons = {"no-such-python"};
    const auto header = write(made);
    EXPECT_EQ(header.template_hash, 0U);
    EXPECT_EQ(header.num_tokens, 3);
    made.inputs = {folder_.write("chat.jsonl", record("a"))};
    EXPECT_THAT(deck_error_of([&] { write(made); }), HasSubstr("has no chat template"));
    made.inputs = {folder_.write("none.jsonl", "\n \n")};
    EXPECT_THAT(deck_error_of([&] { write(made); }), HasSubstr("has no valid record"));
}

TEST_F(SampleFiles, NameTheDamageOfAnArray) {
    const auto failure = [&](const std::string& text) {
        const auto made = job("array.json", text);
        return deck_error_of([&] { write(made); });
    };
    EXPECT_THAT(failure("[" + record("a")), HasSubstr("the array has no end"));
    EXPECT_THAT(failure("[\n{\"a\": 1"), HasSubstr("the object that begins on line 2 has no end"));
    EXPECT_THAT(failure("[" + record("a") + "\n" + record("a") + "]"),
                HasSubstr("no comma between records, line 2"));
    EXPECT_THAT(failure("[3]"), HasSubstr("not an object, line 1"));
    EXPECT_THAT(failure("[" + record("a") + ",]"), HasSubstr("a comma before the end of the array, line 1"));
    EXPECT_THAT(failure("[\n" + record("a") + ",\n" + record("b") + ",\n \n]\n"),
                HasSubstr("a comma before the end of the array, line 5"));
    EXPECT_THAT(failure("[," + record("a") + "]"), HasSubstr("not an object, line 1"));
    EXPECT_THAT(failure("[" + record("a") + ",," + record("b") + "]"), HasSubstr("not an object, line 1"));
    EXPECT_THAT(failure("[,]"), HasSubstr("not an object, line 1"));
    EXPECT_THAT(failure("[" + record("a") + "] x"), HasSubstr("text after the array, line 1"));
    EXPECT_THAT(failure("PK\x03\x04" + std::string(600, 'x')), HasSubstr("cannot read records from"));
}

}  // namespace
}  // namespace ziggurat::data
