#include "data/chat/chat_record.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/text/text_width.hpp"
#include "data/chat/preference_record.hpp"
#include "data/chat/record_json.hpp"
#include "data/chat/record_messages.hpp"

namespace ziggurat::data {
namespace {

ChatRecord read_pair(const ChatJson& record) {
    if (!has_field(record, "completion")) {
        refuse_record("the record has a 'prompt' and no 'completion'", "Add the completion.");
    }
    if (record["prompt"].is_string() && record["completion"].is_string()) {
        ChatRecord made;
        made.kind = RecordKind::plain_pair;
        made.prompt = text_field(record, "prompt");
        made.text = text_field(record, "completion");
        return made;
    }
    auto made = make_conversation();
    append_messages(record["prompt"], "prompt", made);
    made.prompt_messages = std::ssize(made.messages);
    append_messages(record["completion"], "completion", made);
    read_variables(record, made);
    return made;
}

ChatRecord read_messages(const ChatJson& record) {
    auto made = make_conversation();
    append_messages(record["messages"], "messages", made);
    read_variables(record, made);
    return made;
}

/// Reads an Alpaca record without its output.
ChatRecord read_alpaca_prompt(const ChatJson& record) {
    auto made = make_conversation();
    append_system(record, made);
    if (has_field(record, "history")) {
        const auto& history = record["history"];
        if (!history.is_array()) {
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
    auto request = text_field(record, "instruction");
    const auto input = text_field(record, "input", true);
    request += (request.empty() || input.empty() ? "" : "\n") + input;
    made.messages.push_back(make_message("user", std::move(request)));
    return made;
}

ChatRecord read_alpaca(const ChatJson& record) {
    auto made = read_alpaca_prompt(record);
    made.messages.push_back(make_message("assistant", text_field(record, "output")));
    return made;
}

ChatRecord read_sharegpt(const ChatJson& record) {
    const auto& turns = record["conversations"];
    auto made = make_conversation();
    const bool has_roles =
        turns.is_array() && !turns.empty() && turns[0].is_object() && turns[0].contains("role");
    if (has_roles) {
        append_system(record, made);
        append_messages(turns, "conversations", made);
        read_variables(record, made);
        return made;
    }
    if (!turns.is_array() || turns.empty()) {
        refuse_record("field 'conversations' is not a list of turns", "Correct the record.");
    }
    append_system(record, made);
    for (std::size_t i = 0; i < turns.size(); ++i) {
        append_turn(turns[i], fmt::format("conversations[{}]", i), made);
    }
    read_variables(record, made);
    return made;
}

std::vector<ChatRecord> read_preference(const ChatJson& record) {
    const bool has_lists = record["chosen"].is_array() && record["rejected"].is_array();
    const bool has_prompt = has_field(record, "prompt");
    if (has_lists && !(has_prompt && record["prompt"].is_array())) {
        return split_messages(record);
    }
    if (has_prompt && record["prompt"].is_string()) {
        return answers_to_text(record);
    }
    if (has_prompt) {
        auto made = make_conversation();
        append_messages(record["prompt"], "prompt", made);
        read_variables(record, made);
        return answers_after(made, record);
    }
    return has_field(record, "messages")        ? answers_after(read_messages(record), record)
           : has_field(record, "conversations") ? answers_after(read_sharegpt(record), record)
           : has_field(record, "instruction")   ? answers_after(read_alpaca_prompt(record), record)
                                                : split_texts(record);
}

ChatRecord read_one(const ChatJson& record) {
    if (has_field(record, "messages")) {
        return read_messages(record);
    }
    if (has_field(record, "conversations")) {
        return read_sharegpt(record);
    }
    if (has_field(record, "prompt")) {
        return read_pair(record);
    }
    if (has_field(record, "instruction")) {
        return read_alpaca(record);
    }
    if (has_field(record, "text")) {
        ChatRecord made;
        made.text = text_field(record, "text");
        return made;
    }
    std::string keys;
    for (const auto& [key, unused] : record.items()) {
        keys += (keys.empty() ? "" : ", ") + key;
    }
    refuse_record(
        fmt::format("the record has no known fields (it has: {})", keys.empty() ? "none" : for_display(keys)),
        "Write messages; prompt and completion; instruction and output; conversations; chosen and rejected; "
        "or text.");
}

}  // namespace

std::vector<ChatRecord> parse_chat_records(std::string_view json) {
    const auto record = parse_record_json(json, "the record", "Write one object on each line.");
    if (!record.is_object()) {
        refuse_record("the record is not an object", "Write one object on each line.");
    }
    if (has_field(record, "chosen") && has_field(record, "rejected")) {
        return read_preference(record);
    }
    return {read_one(record)};
}

}  // namespace ziggurat::data
