#include "data/chat/chat_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/text_width.hpp"
#include "data/chat/preference_record.hpp"
#include "data/chat/record_fields.hpp"
#include "data/chat/record_json.hpp"
#include "data/chat/record_messages.hpp"

namespace ziggurat::data {
namespace {

ChatRecord read_pair(RecordFields& record) {
    if (record.has_text("prompt") && record.has_text("completion")) {
        ChatRecord made;
        made.kind = RecordKind::plain_pair;
        made.prompt = record.use_text("prompt");
        made.text = record.use_text("completion");
        expect_no_system(record, made.prompt);
        return made;
    }
    auto made = make_conversation();
    append_messages(record, "prompt", made);
    insert_system(record, made);
    made.prompt_messages = std::ssize(made.messages);
    append_messages(record, "completion", made);
    read_variables(record, made);
    return made;
}

/// Reads a list of messages, or of turns of ShareGPT.
ChatRecord read_messages(RecordFields& record, const char* key) {
    auto made = make_conversation();
    append_messages(record, key, made);
    insert_system(record, made);
    read_variables(record, made);
    return made;
}

void append_history(RecordFields& record, ChatRecord& made) {
    const auto history = record.use_json("history", "Write a list of pairs of texts.");
    if (!history.is_null() && !history.is_array()) {
        refuse_record("field 'history' is not a list of pairs of texts", "Correct the record.");
    }
    for (std::size_t i = 0; i < history.size(); ++i) {
        const auto& pair = history[i];
        if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) {
            refuse_record(fmt::format("history[{}] is not a pair of texts", i), "Correct the record.");
        }
        made.messages.push_back(make_message("user", pair[0].get<std::string>()));
        made.messages.push_back(make_message("assistant", pair[1].get<std::string>()));
    }
}

/// Reads an Alpaca record without its output.
///
/// \param key  the field of the request
ChatRecord read_alpaca_prompt(RecordFields& record, const std::string& key) {
    auto made = make_conversation();
    append_history(record, made);
    auto request = record.use_text(key);
    const auto input = key == "input" ? "" : record.use_text("input", true);
    request += (request.empty() || input.empty() ? "" : "\n") + input;
    made.messages.push_back(make_message("user", std::move(request)));
    insert_system(record, made);
    read_variables(record, made);
    return made;
}

ChatRecord read_alpaca(RecordFields& record) {
    auto made = read_alpaca_prompt(record, "instruction");
    made.messages.push_back(make_message("assistant", record.use_text("output")));
    return made;
}

/// Returns true if a list of messages begins with one of an assistant.
bool begins_with_assistant(const ChatJson& list) {
    const auto has = [&](const char* key, const char* value) {
        return list[0].is_object() && has_field(list[0], key) && list[0][key] == value;
    };
    return has("role", "assistant") || has("from", "gpt") || has("from", "assistant") ||
           has("from", "function_call");
}

std::vector<ChatRecord> read_preference(RecordFields& record) {
    const bool has_lists = record.peek("chosen").is_array() && record.peek("rejected").is_array();
    if (record.has("prompt") && !record.has_text("prompt")) {
        auto made = read_messages(record, "prompt");
        return answers_after(made, record);
    }
    const bool has_answers_only = has_lists && begins_with_assistant(record.peek("chosen")) &&
                                  begins_with_assistant(record.peek("rejected"));
    if (has_lists && !has_answers_only) {
        return split_messages(record);
    }
    for (const char* key : {"messages", "conversations"}) {
        if (record.has(key)) {
            return answers_after(read_messages(record, key), record);
        }
    }
    if (record.has("prompt") && !has_answers_only) {
        return answers_to_text(record);
    }
    for (const char* key : {"prompt", "instruction", "question", "input"}) {
        if (record.has_text(key)) {
            return answers_after(read_alpaca_prompt(record, key), record);
        }
    }
    return has_lists ? split_messages(record) : split_texts(record);
}

ChatRecord read_one(RecordFields& record) {
    for (const char* key : {"messages", "conversations"}) {
        if (record.has(key)) {
            return read_messages(record, key);
        }
    }
    if (record.has("prompt") && record.has("completion")) {
        return read_pair(record);
    }
    if (record.has("instruction")) {
        return read_alpaca(record);
    }
    if (record.has("text")) {
        ChatRecord made;
        made.text = record.use_text("text");
        expect_no_system(record, made.text);
        return made;
    }
    if (record.has("prompt")) {
        refuse_record("the record has a 'prompt' and no 'completion'", "Add the completion.");
    }
    if (record.has("chosen") || record.has("rejected")) {
        refuse_record(record.has("chosen") ? "the record has a chosen answer and no rejected one"
                                           : "the record has a rejected answer and no chosen one",
                      "Write both answers.");
    }
    for (const char* key : {"messages", "conversations", "instruction", "text"}) {
        if (record.contains(key)) {
            refuse_record(fmt::format("field '{}' has no value", key), "Write it, or remove the record.");
        }
    }
    const auto names = record.names();
    refuse_record(fmt::format("the record has no known fields (it has: {})",
                              names.empty() ? "none" : for_display(names)),
                  "Write messages; prompt and completion; instruction and output; conversations; chosen and "
                  "rejected; or text.");
}

}  // namespace

std::vector<ChatRecord> parse_chat_records(std::string_view json) {
    auto parsed = parse_record_json(json, "the record", "Write one object on each line.");
    if (!parsed.is_object()) {
        refuse_record("the record is not an object", "Write one object on each line.");
    }
    RecordFields record(std::move(parsed));
    expect_supported(record);
    auto records = record.is_preference() ? read_preference(record) : std::vector{read_one(record)};
    records.front().unused_fields = record.unused();
    return records;
}

}  // namespace ziggurat::data
