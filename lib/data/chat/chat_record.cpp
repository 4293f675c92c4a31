#include "data/chat/chat_record.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/text/text_width.hpp"
#include "data/chat/record_json.hpp"

namespace ziggurat::data {
namespace {

bool has(const ChatJson& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && !found->is_null();
}

/// Returns a text of a record; empty if it is missing and `is_optional`.
std::string text_of(const ChatJson& record, const char* key, bool is_optional = false) {
    if (!has(record, key) && is_optional) {
        return {};
    }
    if (!has(record, key) || !record[key].is_string()) {
        refuse_record(fmt::format("field '{}' is not a text", key), "Correct the record.");
    }
    return record[key].get<std::string>();
}

ChatJson message(const char* role, std::string content) {
    return {{"role", role}, {"content", std::move(content)}};
}

void append_system(const ChatJson& record, ChatRecord& made) {
    if (auto system = text_of(record, "system", true); !system.empty()) {
        made.messages.push_back(message("system", std::move(system)));
    }
}

/// Reads variables of the template. Tools may be JSON in a text, as columns of one type require.
void read_variables(const ChatJson& record, ChatRecord& made) {
    if (has(record, "tools")) {
        auto tools = record["tools"];
        if (tools.is_string()) {
            const auto text = tools.get<std::string>();
            const bool is_blank = text.find_first_not_of(" \t\r\n") == std::string::npos;
            tools = is_blank ? ChatJson::array()
                             : parse_record_json(text, "the text of field 'tools'", "Write a list of tools.");
        }
        if (!tools.is_array()) {
            refuse_record("field 'tools' is not a list", "Write a list of tools.");
        }
        if (!tools.empty()) {
            made.variables["tools"] = std::move(tools);
            made.has_tools = true;
        }
    }
    if (has(record, "documents")) {
        made.variables["documents"] = record["documents"];
    }
    if (has(record, "chat_template_kwargs")) {
        const auto& further = record["chat_template_kwargs"];
        if (!further.is_object()) {
            refuse_record("field 'chat_template_kwargs' is not an object", "Correct the record.");
        }
        made.variables.update(further);
    }
}

void check_message(const ChatJson& message, const std::string& location) {
    if (!message.is_object()) {
        refuse_record(fmt::format("{} is not an object", location), "Correct the record.");
    }
    if (!has(message, "role") || !message["role"].is_string()) {
        refuse_record(fmt::format("{} has no text 'role'", location), "Correct the record.");
    }
    const bool has_content = has(message, "content");
    const bool is_valid =
        has_content ? message["content"].is_string() || message["content"].is_array()
                    : has(message, "tool_calls") || has(message, "function_call") || has(message, "thinking");
    if (!is_valid) {
        refuse_record(fmt::format("{} has no text 'content'", location), "Correct the record.");
    }
}

void append_messages(const ChatJson& list, const char* key, ChatRecord& made) {
    if (!list.is_array() || list.empty()) {
        refuse_record(fmt::format("field '{}' is not a list of messages", key), "Correct the record.");
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
        check_message(list[i], fmt::format("{}[{}]", key, i));
        made.messages.push_back(list[i]);
    }
}

ChatRecord conversation() {
    ChatRecord made;
    made.kind = RecordKind::conversation;
    return made;
}

ChatRecord read_pair(const ChatJson& record) {
    if (!has(record, "completion")) {
        refuse_record("the record has a 'prompt' and no 'completion'", "Add the completion.");
    }
    if (record["prompt"].is_string() && record["completion"].is_string()) {
        ChatRecord made;
        made.kind = RecordKind::plain_pair;
        made.prompt = text_of(record, "prompt");
        made.text = text_of(record, "completion");
        return made;
    }
    auto made = conversation();
    append_messages(record["prompt"], "prompt", made);
    made.prompt_messages = std::ssize(made.messages);
    append_messages(record["completion"], "completion", made);
    read_variables(record, made);
    return made;
}

ChatRecord read_alpaca(const ChatJson& record) {
    auto made = conversation();
    append_system(record, made);
    if (has(record, "history")) {
        const auto& history = record["history"];
        if (!history.is_array()) {
            refuse_record("field 'history' is not a list of pairs of texts", "Correct the record.");
        }
        for (std::size_t i = 0; i < history.size(); ++i) {
            const auto& pair = history[i];
            if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) {
                refuse_record(fmt::format("history[{}] is not a pair of texts", i), "Correct the record.");
            }
            made.messages.push_back(message("user", pair[0].get<std::string>()));
            made.messages.push_back(message("assistant", pair[1].get<std::string>()));
        }
    }
    auto request = text_of(record, "instruction");
    const auto input = text_of(record, "input", true);
    request += (request.empty() || input.empty() ? "" : "\n") + input;
    made.messages.push_back(message("user", std::move(request)));
    made.messages.push_back(message("assistant", text_of(record, "output")));
    return made;
}

/// Returns the role of a ShareGPT turn; empty if it is unknown.
std::string role_of(const std::string& from) {
    constexpr std::array roles{std::pair{"human", "user"},          std::pair{"user", "user"},
                               std::pair{"gpt", "assistant"},       std::pair{"chatgpt", "assistant"},
                               std::pair{"bing", "assistant"},      std::pair{"bard", "assistant"},
                               std::pair{"assistant", "assistant"}, std::pair{"system", "system"},
                               std::pair{"observation", "tool"},    std::pair{"tool", "tool"}};
    for (const auto& [name, role] : roles) {
        if (from == name) {
            return role;
        }
    }
    return "";
}

/// Returns the message of a function_call: one {name, arguments} as JSON, or a list of them.
ChatJson tool_calls_message(const std::string& value, const std::string& location) {
    auto calls = parse_record_json(value, fmt::format("the value of {} (a function_call)", location),
                                   "Write {\"name\": ..., \"arguments\": ...}.");
    if (!calls.is_array()) {
        calls = ChatJson::array({calls});
    }
    auto made = message("assistant", "");
    made["tool_calls"] = ChatJson::array();
    for (const auto& call : calls) {
        if (!call.is_object() || !has(call, "name") || !call.contains("arguments")) {
            refuse_record(fmt::format("{} is a function_call without name and arguments", location),
                          "Write {\"name\": ..., \"arguments\": ...}.");
        }
        made["tool_calls"].push_back({{"type", "function"}, {"function", call}});
    }
    return made;
}

ChatRecord read_sharegpt(const ChatJson& record) {
    const auto& turns = record["conversations"];
    auto made = conversation();
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
        const auto location = fmt::format("conversations[{}]", i);
        if (!turns[i].is_object() || !has(turns[i], "from") || !turns[i]["from"].is_string() ||
            !has(turns[i], "value") || !turns[i]["value"].is_string()) {
            refuse_record(fmt::format("{} has no texts 'from' and 'value'", location), "Correct the record.");
        }
        const auto from = turns[i]["from"].get<std::string>();
        auto value = turns[i]["value"].get<std::string>();
        if (from == "function_call") {
            made.messages.push_back(tool_calls_message(value, location));
            continue;
        }
        const auto role = role_of(from);
        if (role.empty()) {
            refuse_record(fmt::format("{} is from '{}'", location, for_display(from)),
                          "Known are human, gpt, system, function_call and observation.");
        }
        made.messages.push_back(message(role.c_str(), std::move(value)));
    }
    read_variables(record, made);
    return made;
}

}  // namespace

ChatRecord parse_chat_record(std::string_view json) {
    const auto record = parse_record_json(json, "the record", "Write one object on each line.");
    if (!record.is_object()) {
        refuse_record("the record is not an object", "Write one object on each line.");
    }
    if (has(record, "messages")) {
        auto made = conversation();
        append_messages(record["messages"], "messages", made);
        read_variables(record, made);
        return made;
    }
    if (has(record, "conversations")) {
        return read_sharegpt(record);
    }
    if (has(record, "chosen") && has(record, "rejected")) {
        refuse_record("the record is a preference (it has 'chosen' and 'rejected')",
                      "Write its chosen answer as a completion.");
    }
    if (has(record, "prompt")) {
        return read_pair(record);
    }
    if (has(record, "instruction")) {
        return read_alpaca(record);
    }
    if (has(record, "text")) {
        ChatRecord made;
        made.text = text_of(record, "text");
        return made;
    }
    std::string keys;
    for (const auto& [key, unused] : record.items()) {
        keys += (keys.empty() ? "" : ", ") + key;
    }
    refuse_record(
        fmt::format("the record has no known fields (it has: {})", keys.empty() ? "none" : for_display(keys)),
        "Write messages; prompt and completion; instruction and output; conversations; or text.");
}

}  // namespace ziggurat::data
