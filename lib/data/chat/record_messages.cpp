#include "data/chat/record_messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/text_width.hpp"
#include "data/chat/message_training.hpp"
#include "data/chat/record_json.hpp"

namespace ziggurat::data {
namespace {

/// Fields that a message without content has.
constexpr std::array instead_of_content{"tool_calls", "function_call", "thinking", "reasoning_content",
                                        "reasoning"};

/// Names in `chat_template_kwargs` that would have no effect: the program or transformers sets them.
struct ReservedVariable {
    const char* name;
    const char* remedy;
};
constexpr const char* remove_it = "Remove it.";
constexpr const char* own_field = "Write it as a field of the record.";
constexpr const char* deck_template = "Name the template in data.train, or with --template.";
constexpr std::array reserved_variables{
    ReservedVariable{"messages", own_field},
    ReservedVariable{"conversation", own_field},
    ReservedVariable{"tools", own_field},
    ReservedVariable{"documents", own_field},
    ReservedVariable{"add_generation_prompt", remove_it},
    ReservedVariable{"continue_final_message", remove_it},
    ReservedVariable{"chat_template", deck_template},
    ReservedVariable{"tokenize", remove_it},
    ReservedVariable{"padding", remove_it},
    ReservedVariable{"truncation", remove_it},
    ReservedVariable{"max_length", remove_it},
    ReservedVariable{"return_tensors", remove_it},
    ReservedVariable{"return_dict", remove_it},
    ReservedVariable{"return_assistant_tokens_mask", remove_it},
    ReservedVariable{"tokenizer_kwargs", remove_it},
};

/// Adds the object of `chat_template_kwargs` to the variables of the template.
void add_variables(const ChatJson& further, ChatRecord& made) {
    if (further.is_null()) {
        return;
    }
    if (!further.is_object()) {
        refuse_record("field 'chat_template_kwargs' is not an object", "Correct the record.");
    }
    for (const auto& reserved : reserved_variables) {
        if (further.contains(reserved.name)) {
            refuse_record(fmt::format("field 'chat_template_kwargs' has '{}', which a record cannot set",
                                      reserved.name),
                          reserved.remedy);
        }
    }
    made.variables.update(further);
}

void check_message(const ChatJson& message, const std::string& location) {
    if (!message.is_object()) {
        refuse_record(fmt::format("{} is not an object", location), "Correct the record.");
    }
    if (!has_field(message, "role") || !message["role"].is_string()) {
        refuse_record(fmt::format("{} has no text 'role'", location), "Correct the record.");
    }
    const bool has_content = message.contains("content") && !message["content"].is_null();
    const bool is_valid = has_content ? message["content"].is_string() || message["content"].is_array()
                                      : std::ranges::any_of(instead_of_content, [&](const char* key) {
                                            return has_field(message, key);
                                        });
    if (!is_valid) {
        refuse_record(fmt::format("{} has no text 'content'", location), "Correct the record.");
    }
    expect_supported_content(message, location);
    counts_by_field(message, location);
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

/// Appends a turn of ShareGPT. Its other fields are kept.
void append_turn(const ChatJson& turn, const std::string& location, ChatRecord& made) {
    if (!has_field(turn, "from") || !turn["from"].is_string() || !has_field(turn, "value") ||
        !turn["value"].is_string()) {
        refuse_record(fmt::format("{} has no texts 'from' and 'value'", location), "Correct the record.");
    }
    const auto from = turn["from"].get<std::string>();
    auto value = turn["value"].get<std::string>();
    const auto role = role_of(from);
    if (role.empty() && from != "function_call") {
        refuse_record(fmt::format("{} is from '{}'", location, for_display(from)),
                      "Known are human, gpt, system, function_call and observation.");
    }
    auto message =
        role.empty() ? tool_calls_message(value, location) : make_message(role.c_str(), std::move(value));
    for (const auto& [key, other] : turn.items()) {
        if (key != "from" && key != "value" && !other.is_null() && !message.contains(key)) {
            message[key] = other;
        }
    }
    counts_by_field(message, location);
    made.messages.push_back(std::move(message));
}

/// Returns the tools of a field as a list. The texts `null` and `[]` are empty lists.
ChatJson tools_of(RecordFields& record, const char* key) {
    const auto tools = record.use_json(key, "Write a list of tools.");
    if (tools.is_null()) {
        return ChatJson::array();
    }
    if (!tools.is_array() && !tools.is_object()) {
        refuse_record(fmt::format("field '{}' is not a list", key), "Write a list of tools.");
    }
    return tools.is_array() ? tools : ChatJson::array({tools});
}

}  // namespace

ChatJson make_message(const char* role, std::string content) {
    return {{"role", role}, {"content", std::move(content)}};
}

ChatRecord make_conversation() {
    ChatRecord made;
    made.kind = RecordKind::conversation;
    return made;
}

void insert_system(RecordFields& record, ChatRecord& made) {
    if (!record.has("system") || record.peek("system") == "") {
        return;
    }
    auto& messages = made.messages;
    if (!messages.empty() && messages[0]["role"] == "system") {
        if (messages[0].contains("content") && messages[0]["content"] == record.peek("system")) {
            record.use("system");
        }
        return;
    }
    messages.insert(messages.begin(), make_message("system", record.use_text("system")));
}

void append_messages(RecordFields& record, const char* key, ChatRecord& made) {
    const auto list = record.use_list(key, "messages");
    for (std::size_t i = 0; i < list.size(); ++i) {
        append_message(list[i], fmt::format("{}[{}]", key, i), made);
    }
}

void append_message(const ChatJson& message, const std::string& location, ChatRecord& made) {
    if (message.is_object() && !has_field(message, "role") && has_field(message, "from")) {
        append_turn(message, location, made);
        return;
    }
    check_message(message, location);
    made.messages.push_back(ChatJson::object());
    for (const auto& [key, value] : message.items()) {
        if (!value.is_null() || key == "content") {
            made.messages.back()[key] = value;
        }
    }
}

void read_variables(RecordFields& record, ChatRecord& made) {
    auto tools = tools_of(record, "tools");
    if (const auto functions = tools_of(record, "functions"); !functions.empty()) {
        if (!tools.empty()) {
            refuse_record("the record has both 'tools' and 'functions'", "Remove one of them.");
        }
        for (const auto& function : functions) {
            const bool is_tool = function.is_object() && function.contains("function");
            tools.push_back(is_tool ? function : ChatJson{{"type", "function"}, {"function", function}});
        }
    }
    if (!tools.empty()) {
        made.variables["tools"] = std::move(tools);
        made.has_tools = true;
    }
    if (auto documents = record.use_json("documents", "Write a list of documents."); !documents.is_null()) {
        made.variables["documents"] = std::move(documents);
    }
    add_variables(record.use_json("chat_template_kwargs", "Write an object."), made);
    if (record.has("only_last") && record.peek("only_last").is_boolean()) {
        made.counts_last_only = record.use("only_last").get<bool>();
    }
}

}  // namespace ziggurat::data
