#include "data/chat/chat_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

using test::deck_error_of;
using ::testing::HasSubstr;

ChatRecord one_of(const std::string& record) {
    const auto records = parse_chat_records(record);
    EXPECT_EQ(records.size(), 1U);
    return records.front();
}
std::string messages_of(const std::string& record) {
    return one_of(record).messages.dump();
}
std::string mismatch(const std::string& record) {
    return deck_error_of([&] { parse_chat_records(record); });
}

TEST(ChatRecord, KeepsMessagesWithAllTheirKeysInOrder) {
    const auto record = one_of(
        R"({"id": 3, "messages": [{"role": "user", "z": 1, "content": "a"}, {"role": "assistant", "tool_calls": [1]}],
            "tools": "[{\"name\": \"f\"}]", "chat_template_kwargs": {"enable_thinking": false}})");
    EXPECT_EQ(record.kind, RecordKind::conversation);
    EXPECT_EQ(record.messages.dump(),
              R"([{"role":"user","z":1,"content":"a"},{"role":"assistant","tool_calls":[1]}])");
    EXPECT_EQ(record.variables.dump(), R"({"tools":[{"name":"f"}],"enable_thinking":false})");
    EXPECT_TRUE(record.has_tools);
    EXPECT_EQ(record.prompt_messages, 0);
}

TEST(ChatRecord, OmitsNullFieldsOfMessages) {
    EXPECT_EQ(messages_of(R"({"messages": [{"role": "user", "content": "a", "name": null, "tool_calls": null},
                              {"role": "assistant", "content": null, "tool_calls": [1]}]})"),
              R"([{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[1]}])");
    EXPECT_EQ(messages_of(R"({"conversations": [{"from": "human", "value": "a", "name": null, "id": 1}]})"),
              R"([{"role":"user","content":"a","id":1}])");
}

TEST(ChatRecord, ReadsPromptAndCompletion) {
    const auto texts = one_of(R"({"prompt": "a ", "completion": "b"})");
    EXPECT_EQ(texts.kind, RecordKind::plain_pair);
    EXPECT_EQ(texts.prompt + "|" + texts.text, "a |b");
    const auto lists = one_of(
        R"({"prompt": [{"role": "user", "content": "a"}], "completion": [{"role": "assistant", "content": "b"}]})");
    EXPECT_EQ(lists.kind, RecordKind::conversation);
    EXPECT_EQ(lists.prompt_messages, 1);
    EXPECT_EQ(lists.messages.size(), 2U);
    const auto text = one_of(R"({"text": "t"})");
    EXPECT_EQ(text.kind, RecordKind::text);
    EXPECT_EQ(text.text, "t");
}

TEST(ChatRecord, ReadsAlpaca) {
    EXPECT_EQ(messages_of(R"({"instruction": "i", "input": "x", "output": "o"})"),
              R"([{"role":"user","content":"i\nx"},{"role":"assistant","content":"o"}])");
    EXPECT_EQ(
        messages_of(
            R"({"instruction": "i", "input": "", "output": "o", "system": "s", "history": [["a", "b"]]})"),
        R"([{"role":"system","content":"s"},{"role":"user","content":"a"},)"
        R"({"role":"assistant","content":"b"},{"role":"user","content":"i"},)"
        R"({"role":"assistant","content":"o"}])");
}

TEST(ChatRecord, ReadsShareGpt) {
    const auto record = one_of(
        R"({"system": "s", "tools": [{"name": "f"}], "conversations": [{"from": "human", "value": "a"},
            {"from": "function_call", "value": "{\"name\": \"f\", \"arguments\": {\"y\": 1, \"x\": 2}}"},
            {"from": "observation", "value": "3"}, {"from": "gpt", "value": "b"}]})");
    EXPECT_EQ(record.messages.dump(), R"([{"role":"system","content":"s"},{"role":"user","content":"a"},)"
                                      R"({"role":"assistant","content":"","tool_calls":[{"type":"function",)"
                                      R"("function":{"name":"f","arguments":{"y":1,"x":2}}}]},)"
                                      R"({"role":"tool","content":"3"},{"role":"assistant","content":"b"}])");
    EXPECT_TRUE(record.has_tools);
    EXPECT_EQ(messages_of(R"({"conversations": [{"role": "user", "content": "a"}]})"),
              R"([{"role":"user","content":"a"}])");
}

TEST(ChatRecord, NamesTheBadField) {
    EXPECT_THAT(mismatch("[1]"), HasSubstr("not an object"));
    EXPECT_THAT(mismatch("{\"a\": "), HasSubstr("the record is not JSON"));
    EXPECT_THAT(mismatch(R"({"id": 1, "body": "x"})"), HasSubstr("no known fields (it has: id, body)"));
    EXPECT_THAT(mismatch(R"({"messages": []})"), HasSubstr("field 'messages' has no value"));
    EXPECT_THAT(mismatch(R"({"messages": {"role": "user"}})"),
                HasSubstr("'messages' is not a list of messages"));
    EXPECT_THAT(mismatch(R"({"messages": [{"role": "user", "content": "a"}, {"content": "b"}]})"),
                HasSubstr("messages[1] has no text 'role'"));
    EXPECT_THAT(mismatch(R"({"messages": [{"role": "user"}]})"),
                HasSubstr("messages[0] has no text 'content'"));
    EXPECT_THAT(mismatch(R"({"messages": [{"role": "user", "content": 3}]})"), HasSubstr("messages[0]"));
    EXPECT_THAT(mismatch(R"({"messages": [{"role": "user", "content": "a"}], "tools": "{"})"),
                HasSubstr("the text of field 'tools' is not JSON"));
    EXPECT_THAT(mismatch(R"({"prompt": "a"})"), HasSubstr("no 'completion'"));
    EXPECT_THAT(mismatch(R"({"prompt": "a", "completion": []})"), HasSubstr("no 'completion'"));
    EXPECT_THAT(mismatch(R"({"prompt": "a", "completion": [{"role": "assistant", "content": "b"}]})"),
                HasSubstr("'prompt' is not a list"));
    EXPECT_THAT(mismatch(R"({"instruction": "a"})"), HasSubstr("'output' is not a text"));
    EXPECT_THAT(mismatch(R"({"instruction": "a", "output": "b", "history": [["x"]]})"),
                HasSubstr("history[0]"));
    EXPECT_THAT(mismatch(R"({"conversations": [{"from": "alien", "value": ""}]})"),
                HasSubstr("conversations[0] is from 'alien'"));
    EXPECT_THAT(mismatch(R"json({"conversations": [{"from": "function_call", "value": "f()"}]})json"),
                HasSubstr("conversations[0] (a function_call) is not JSON"));
    EXPECT_THAT(mismatch(R"({"text": "a\\\"1", "n": [-18446744073709551616]})"),
                HasSubstr("the number -18446744073709551616, which has more than 64 bits"));
    EXPECT_EQ(
        mismatch(
            R"({"text": "99999999999999999999\\", "n": [18446744073709551615, -9223372036854775808, 1e99]})"),
        "");
    EXPECT_THAT(mismatch("{\"text\": " + std::string(70, '[') + std::string(70, ']') + "}"),
                HasSubstr("nested deeper than 64"));
}

}  // namespace
}  // namespace ziggurat::data
