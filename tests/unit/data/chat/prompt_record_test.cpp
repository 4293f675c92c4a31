#include "data/chat/prompt_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

using test::deck_error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const PromptForm text_form{};
const PromptForm chat_form{.is_chat = true, .system = "s"};

std::string mismatch(const std::string& record, const PromptForm& form = text_form) {
    return deck_error_of([&] { parse_prompt_record(record, form); });
}

TEST(PromptRecord, IsATextToContinue) {
    const auto record = parse_prompt_record(R"({"id": [1, "a"], "prompt": "b "})", text_form);
    EXPECT_FALSE(record.is_chat);
    EXPECT_EQ(record.text, "b ");
    EXPECT_EQ(record.given.dump(), R"({"id":[1,"a"],"prompt":"b "})");
}

TEST(PromptRecord, IsAUsersMessageOfAChat) {
    const auto record = parse_prompt_record(R"({"prompt": "b"})", chat_form);
    EXPECT_TRUE(record.is_chat);
    EXPECT_EQ(record.conversation.messages.dump(),
              R"([{"role":"system","content":"s"},{"role":"user","content":"b"}])");
    EXPECT_EQ(record.given.dump(), R"({"prompt":"b"})");
}

TEST(PromptRecord, IsAConversationInAnyForm) {
    const std::string messages = R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"},)"
                                 R"({"role":"user","content":"c"}])";
    for (const auto* form : {&text_form, &chat_form}) {
        for (const std::string key : {"messages", "prompt"}) {
            const auto record =
                parse_prompt_record("{\"" + key + "\":" + messages + R"(,"system":"t"})", *form);
            EXPECT_TRUE(record.is_chat);
            EXPECT_EQ(record.conversation.messages.dump(),
                      R"([{"role":"system","content":"t"},)" + messages.substr(1));
            EXPECT_EQ(record.given.dump(), "{\"" + key + "\":" + messages + "}");
        }
    }
}

TEST(PromptRecord, NamesWhatIsWrongAndWhatHasNoEffect) {
    EXPECT_THAT(mismatch("[1]"), HasSubstr("not an object"));
    EXPECT_THAT(mismatch("{"), HasSubstr("is not JSON"));
    EXPECT_THAT(mismatch(R"({"text": "a"})"), HasSubstr("no 'prompt' or 'messages' (fields: text)"));
    EXPECT_THAT(mismatch(R"({"prompt": ""})"), HasSubstr("'prompt' is empty"));
    EXPECT_THAT(mismatch(R"({"prompt": 3})"), HasSubstr("'prompt' is not a list of messages"));
    EXPECT_THAT(mismatch(R"({"prompt": "a", "messages": [{"role": "user", "content": "b"}]})"),
                HasSubstr("both 'prompt' and 'messages'"));
    EXPECT_THAT(mismatch(R"({"prompt": "a", "system": "b"})"), HasSubstr("Add --chat"));
    EXPECT_THAT(mismatch(R"({"messages": [{"role": "assistant", "content": "b"}]})"),
                HasSubstr("ends with a message of the assistant"));
    EXPECT_THAT(parse_prompt_record(R"({"prompt": "a", "completion": "b"})", text_form).unused_fields,
                ElementsAre("completion"));
}

TEST(PromptRecords, OfAFileNameTheLine) {
    const test::ScratchFolder folder;
    const auto path = folder.write("p.jsonl", "{\"prompt\": \"a\"}\n\n{\"prompt\": \"b\"}\n");
    const auto records = read_prompt_records(path, "'p'", text_form);
    ASSERT_EQ(records.size(), 2U);
    EXPECT_EQ(records[1].line, 3);
    EXPECT_EQ(records[1].text, "b");
    folder.write("p.jsonl", "{\"prompt\": \"a\"}\n{\"prompt\": 1}\n");
    EXPECT_THAT(deck_error_of([&] { read_prompt_records(path, "'p'", text_form); }),
                HasSubstr("'p', line 2: "));
    folder.write("p.jsonl", "\n\n");
    EXPECT_THAT(deck_error_of([&] { read_prompt_records(path, "'p'", text_form); }),
                HasSubstr("has no prompts"));
}

}  // namespace
}  // namespace ziggurat::data
