#include "data/chat/record_messages.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/text/text_width.hpp"
#include "data/chat/record_json.hpp"

namespace ziggurat::data {
namespace {

void check_message(const ChatJson& message, const std::string& location) {
    if (!message.is_object()) {
        refuse_record(fmt::format("{} is not an object", location), "Correct the record.");
    }
    if (!has_field(message, "role") || !message["role"].is_string()) {
        refuse_record(fmt::format("{} has no text 'role'", location), "Correct the record.");
    }
    const bool has_content = has_field(message, "content");
    const bool is_valid = has_content
                              ? message["content"].is_string() || message["content"].is_array()
                              : has_field(message, "tool_calls") || has_field(message, "function_call") ||
                                    has_field(message, "thinking");
    if (!is_valid) {
        refuse_record(fmt::format("{} has no text 'content'", location), "Correct the record.");
    }
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
    auto made = make_message("assistant", "");
    made["tool_calls"] = ChatJson::array();
    for (const auto& call : calls) {
        if (!call.is_object() || !has_field(call, "name") || !call.contains("arguments")) {
            refuse_record(fmt::format("{} is a function_call without name and arguments", location),
                          "Write {\"name\": ..., \"arguments\": ...}.");
        }
        made["tool_calls"].push_back({{"type", "function"}, {"function", call}});
    }
    return made;
}

}  // namespace

bool has_field(const ChatJson& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && !found->is_null();
}

std::string text_field(const ChatJson& record, const char* key, bool is_optional) {
    if (!has_field(record, key) && is_optional) {
        return {};
    }
    if (!has_field(record, key) || !record[key].is_string()) {
        refuse_record(fmt::format("field '{}' is not a text", key), "Correct the record.");
    }
    return record[key].get<std::string>();
}

ChatJson make_message(const char* role, std::string content) {
    return {{"role", role}, {"content", std::move(content)}};
}

ChatRecord make_conversation() {
    ChatRecord made;
    made.kind = RecordKind::conversation;
    return made;
}

void append_system(const ChatJson& record, ChatRecord& made) {
    if (auto system = text_field(record, "system", true); !system.empty()) {
        made.messages.push_back(make_message("system", std::move(system)));
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

void append_turn(const ChatJson& turn, const std::string& location, ChatRecord& made) {
    if (!turn.is_object() || !has_field(turn, "from") || !turn["from"].is_string() ||
        !has_field(turn, "value") || !turn["value"].is_string()) {
        refuse_record(fmt::format("{} has no texts 'from' and 'value'", location), "Correct the record.");
    }
    const auto from = turn["from"].get<std::string>();
    auto value = turn["value"].get<std::string>();
    if (from == "function_call") {
        made.messages.push_back(tool_calls_message(value, location));
        return;
    }
    const auto role = role_of(from);
    if (role.empty()) {
        refuse_record(fmt::format("{} is from '{}'", location, for_display(from)),
                      "Known are human, gpt, system, function_call and observation.");
    }
    made.messages.push_back(make_message(role.c_str(), std::move(value)));
}

void append_message(const ChatJson& message, const std::string& location, ChatRecord& made) {
    if (message.is_object() && !message.contains("role") && message.contains("from")) {
        append_turn(message, location, made);
        return;
    }
    check_message(message, location);
    made.messages.push_back(message);
}

void read_variables(const ChatJson& record, ChatRecord& made) {
    if (has_field(record, "tools")) {
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
    if (has_field(record, "documents")) {
        made.variables["documents"] = record["documents"];
    }
    if (has_field(record, "chat_template_kwargs")) {
        const auto& further = record["chat_template_kwargs"];
        if (!further.is_object()) {
            refuse_record("field 'chat_template_kwargs' is not an object", "Correct the record.");
        }
        made.variables.update(further);
    }
}

}  // namespace ziggurat::data
