#include "data/chat/record_fields.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/chat/chat_record.hpp"
#include "data/chat/function_calls.hpp"
#include "data/chat/message_training.hpp"
#include "data/chat/unused_fields.hpp"
#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

using test::deck_error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string turns = R"([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}])";

ChatRecord one_of(const std::string& record) {
    const auto records = parse_chat_records(record);
    EXPECT_EQ(records.size(), 1U);
    return records.front();
}
std::string with_turns(const std::string& fields) {
    return "{\"messages\": " + turns + (fields.empty() ? "" : ", ") + fields + "}";
}
std::vector<std::string> unused(const std::string& fields) {
    return one_of(with_turns(fields)).unused_fields;
}
std::string mismatch(const std::string& fields) {
    return deck_error_of([&] { parse_chat_records(with_turns(fields)); });
}
std::string tools_of(const std::string& fields) {
    const auto record = one_of(with_turns(fields));
    EXPECT_EQ(record.has_tools, record.variables.contains("tools"));
    return record.has_tools ? record.variables["tools"].dump() : "none";
}

TEST(RecordFields, GiveASystemMessageToEveryKindOfConversation) {
    const std::string system = R"({"role":"system","content":"SYS"})";
    for (const char* record : {
             R"({{"system": "SYS", "messages": {0}}})",
             R"({{"system_prompt": "SYS", "interactions": {0}}})",
             R"({{"system": "SYS", "conversations": {0}}})",
             R"({{"system": "SYS", "prompt": {0}, "completion": {0}}})",
             R"({{"system": "SYS", "instruction": "q", "output": "a", "history": []}})",
             R"({{"system": "SYS", "conversations": [{{"from": "human", "value": "q"}}]}})",
             R"({{"system": "SYS", "conversations": [], "messages": {0}}})",
         }) {
        const auto json = fmt::format(fmt::runtime(record), turns);
        const auto made = one_of(json);
        EXPECT_EQ(made.messages[0].dump(), system) << json;
        EXPECT_THAT(made.unused_fields, IsEmpty()) << json;
    }
    const auto pair = one_of(fmt::format(R"({{"system": "SYS", "prompt": {0}, "completion": {0}}})", turns));
    EXPECT_EQ(pair.prompt_messages, 3);
}

TEST(RecordFields, KeepTheSystemMessageOfTheMessages) {
    const std::string own =
        R"({"messages": [{"role": "system", "content": "own"}, {"role": "user", "content": "q"}],)";
    const auto other = one_of(own + R"("system": "SYS"})");
    EXPECT_EQ(other.messages.size(), 2U);
    EXPECT_THAT(other.unused_fields, ElementsAre("system"));
    EXPECT_THAT(one_of(own + R"("system": "own"})").unused_fields, IsEmpty());
}

TEST(RecordFields, AreRefusedIfNoTemplateRendersTheirSystem) {
    for (const char* record :
         {R"({"system": "SYS", "prompt": "q", "completion": "a"})", R"({"system": "SYS", "text": "t"})"}) {
        EXPECT_THAT(deck_error_of([&] { parse_chat_records(record); }),
                    HasSubstr("the record has a 'system'"));
    }
    EXPECT_EQ(one_of(R"({"system": null, "prompt": "q", "completion": "a"})").prompt, "q");
}

TEST(RecordFields, HaveToolsInAllTheirForms) {
    const std::string tool = R"({"type":"function","function":{"name":"f"}})";
    EXPECT_EQ(tools_of(R"("tools": [{"name": "f"}])"), R"([{"name":"f"}])");
    EXPECT_EQ(tools_of(R"("tools": {"name": "f"})"), R"([{"name":"f"}])");
    EXPECT_EQ(tools_of(R"("available_tools": [{"name": "f"}])"), R"([{"name":"f"}])");
    EXPECT_EQ(tools_of(R"("functions": [{"name": "f"}])"), "[" + tool + "]");
    EXPECT_EQ(tools_of(R"("functions": "[{\"name\": \"f\"}]", "tools": [])"), "[" + tool + "]");
    EXPECT_EQ(tools_of("\"functions\": [" + tool + "]"), "[" + tool + "]");
    for (const char* none : {R"("tools": "null")", R"("tools": "[]")", R"("tools": " ")", R"("tools": "")",
                             R"("tools": [])", R"("tools": {})", R"("tools": null)", R"("functions": [])"}) {
        EXPECT_EQ(tools_of(none), "none") << none;
        EXPECT_THAT(unused(none), IsEmpty()) << none;
    }
    EXPECT_THAT(mismatch(R"("tools": [{"name": "f"}], "functions": [{"name": "g"}])"),
                HasSubstr("both 'tools' and 'functions'"));
    EXPECT_THAT(mismatch(R"("tools": [{"name": "f"}], "available_tools": [{"name": "g"}])"),
                HasSubstr("both 'available_tools' and 'tools'"));
    EXPECT_THAT(mismatch(R"("tools": "3")"), HasSubstr("field 'tools' is not a list"));
    const auto alpaca = one_of(R"({"instruction": "q", "output": "a", "tools": "[{\"name\": \"f\"}]"})");
    EXPECT_TRUE(alpaca.has_tools);
}

TEST(RecordFields, WithoutAValueAreMissing) {
    for (const char* record : {R"({{"messages": [], "prompt": {0}, "completion": {0}}})",
                               R"({{"messages": null, "conversations": {0}, "history": []}})",
                               R"({{"conversations": [], "instruction": "q", "output": "a", "input": null}})",
                               R"({{"prompt": [], "messages": {0}, "chosen": null, "rejected": []}})",
                               R"({{"prompt": "", "messages": {0}, "documents": [], "images": []}})",
                               R"({{"text": null, "messages": {0}, "chat_template_kwargs": {{}}}})",
                               R"({{"messages": {0}, "chat_template_kwargs": "{{}}", "text": ""}})",
                               R"({{"messages": {0}, "documents": "null", "tools": "[ ]"}})",
                               R"({{"instruction": "q", "output": "a", "history": "[]"}})"}) {
        const auto json = fmt::format(fmt::runtime(record), turns);
        const auto made = one_of(json);
        EXPECT_EQ(made.kind, RecordKind::conversation) << json;
        EXPECT_THAT(made.unused_fields, IsEmpty()) << json;
        EXPECT_TRUE(made.variables.empty()) << json;
    }
}

TEST(RecordFields, AreReadFromJsonInTexts) {
    EXPECT_EQ(one_of(R"({"messages": "[{\"role\": \"user\", \"content\": \"q\"}]"})").messages.dump(),
              R"([{"role":"user","content":"q"}])");
    EXPECT_THAT(deck_error_of([&] { parse_chat_records(R"({"messages": "[{"})"); }),
                HasSubstr("the text of field 'messages' is not JSON"));
}

TEST(RecordFields, ThatAreNotUsedAreNamed) {
    EXPECT_THAT(unused(R"("id": 7, "source": "x", "empty": "", "none": null, "parallel_tool_calls": false)"),
                ElementsAre("id", "source", "parallel_tool_calls"));
    EXPECT_THAT(unused(R"("label": true, "text": "t")"), ElementsAre("label", "text"));
    EXPECT_THAT(unused(R"("weight": 1, "only_last": false)"), IsEmpty());
    EXPECT_THAT(one_of(R"({"text": "t", "meta": {"a": 1}})").unused_fields, ElementsAre("meta"));
    EXPECT_TRUE(one_of(with_turns(R"("only_last": true)")).counts_last_only);
}

TEST(RecordFields, VariablesThatARecordCannotSetAreRefused) {
    EXPECT_EQ(
        one_of(with_turns(R"("chat_template_kwargs": {"bos_token": "<s>", "a": [1]})")).variables.size(), 2U);
    for (const char* name :
         {"messages", "conversation", "tools", "documents", "add_generation_prompt", "continue_final_message",
          "chat_template", "tokenize", "padding", "truncation", "max_length", "return_tensors", "return_dict",
          "return_assistant_tokens_mask", "tokenizer_kwargs"}) {
        for (const char* form : {R"("chat_template_kwargs": {{"x": 1, "{}": true}})",
                                 R"("chat_template_kwargs": "{{\"{}\": null}}")"}) {
            EXPECT_THAT(
                mismatch(fmt::format(fmt::runtime(form), name)),
                HasSubstr(fmt::format("'chat_template_kwargs' has '{}', which a record cannot set", name)));
        }
    }
}

TEST(RecordFields, ThatAskForAnotherTrainingAreRefused) {
    for (const char* key : {"images", "videos", "audios", "image"}) {
        EXPECT_THAT(mismatch(fmt::format(R"("{}": ["a.png"])", key)), HasSubstr("trains on texts only"));
    }
    EXPECT_EQ(mismatch(R"("images": "[]", "videos": "null", "audio": "")"), "");
    EXPECT_THAT(mismatch(R"("label": false)"), HasSubstr("'label' is false"));
    EXPECT_THAT(mismatch(R"("kto_tag": false)"), HasSubstr("'kto_tag' is false"));
    EXPECT_THAT(mismatch(R"("weight": 0.5)"), HasSubstr("the record has weight 0.5"));
    EXPECT_THAT(mismatch(R"("train": false)"), HasSubstr("the record has train false"));
}

std::optional<bool> counts(const std::string& message) {
    return counts_by_field(ChatJson::parse(message), "messages[0]");
}
std::string refused(const std::string& message) {
    return deck_error_of([&] { counts(message); });
}

TEST(MessageTraining, IsSetByFieldsOfSeveralPrograms) {
    for (const char* no :
         {R"({"weight": 0})", R"({"weight": 0.0})", R"({"train": false})", R"({"training": false})",
          R"({"trainable": 0})", R"({"loss": false})", R"({"loss_scale": 0.0})"}) {
        EXPECT_EQ(counts(no), false) << no;
    }
    for (const char* yes : {R"({"weight": 1})", R"({"train": true, "weight": 1.0})", R"({"loss": true})"}) {
        EXPECT_EQ(counts(yes), true) << yes;
    }
    for (const char* unknown :
         {R"({})", R"({"weight": null})", R"({"loss": 0.25})", R"({"train_detail": []})"}) {
        EXPECT_EQ(counts(unknown), std::nullopt) << unknown;
    }
    EXPECT_THAT(refused(R"({"weight": 0.5})"), HasSubstr("messages[0] has weight 0.5"));
    EXPECT_THAT(refused(R"({"train": "no"})"), HasSubstr("messages[0] has train \"no\""));
    EXPECT_THAT(refused(R"({"weight": 2})"), HasSubstr("either fully or not"));
    EXPECT_THAT(refused(R"({"weight": 1, "train": false})"),
                HasSubstr("'weight' and 'train' of messages[0]"));
    EXPECT_THAT(refused(R"({"train_detail": [{"begin_offset": 0, "end_offset": 3, "train": false}]})"),
                HasSubstr("'train_detail'"));
}

TEST(MessageTraining, IsOfWholeTexts) {
    const auto refusal = [](const std::string& content) {
        return deck_error_of(
            [&] { parse_chat_records(R"({"messages": [{"role": "user", "content": )" + content + "}]}"); });
    };
    EXPECT_EQ(refusal(R"([{"type": "text", "text": "a"}])"), "");
    EXPECT_THAT(refusal(R"([{"type": "image_url", "image_url": {"url": "x"}}])"),
                HasSubstr("content[0] of messages[0] is of type 'image_url'"));
    EXPECT_THAT(refusal(R"([{"type": "text", "text": "a", "train": false}])"),
                HasSubstr("excludes parts of it from the loss"));
}

TEST(FunctionCalls, BecomeToolCalls) {
    auto record = one_of(R"({"messages": [{"role": "assistant", "content": null,
        "function_call": {"name": "f", "arguments": "{\"x\": 1}"}}, {"role": "function", "name": "f", "content": "2"}]})");
    const auto before = record.messages;
    replace_function_calls(record, "{{ message.function_call }}");
    EXPECT_EQ(record.messages, before);
    replace_function_calls(record, "{{ message.tool_calls }}");
    EXPECT_EQ(record.messages.dump(),
              R"([{"role":"assistant","content":null,"tool_calls":[{"type":"function",)"
              R"("function":{"name":"f","arguments":{"x":1}}}]},{"role":"tool","name":"f","content":"2"}])");
}

TEST(UnusedFields, AreCountedByRecord) {
    UnusedFieldCounts counts;
    EXPECT_THAT(counts.notes({"a.jsonl"}), IsEmpty());
    for (int i = 0; i < 2; ++i) {
        const auto record =
            one_of(with_turns(i == 0 ? R"("id": 3, "tools": [{"name": "f"}])" : R"("id": 4)"));
        counts.add(fields_without_effect(record, "{{ messages }}"));
    }
    EXPECT_THAT(
        counts.notes({"a.jsonl"}),
        ElementsAre(
            "fields of records of 'a.jsonl' that are not used: id (2 records)",
            "fields of records of 'a.jsonl' that the chat template does not mention: tools (1 record)"));
    const auto named =
        one_of(R"({"messages": [{"role": "user", "content": "q", "name": "n", "weight": 1, "z": null}]})");
    EXPECT_THAT(fields_without_effect(named, "").in_template, ElementsAre("messages[].name"));
    EXPECT_THAT(fields_without_effect(named, "{{ m.name }}").in_template, IsEmpty());
    EXPECT_THAT(fields_without_effect(named, "{{ m.names }}{{ rename }}").in_template,
                ElementsAre("messages[].name"));
}

}  // namespace
}  // namespace ziggurat::data
