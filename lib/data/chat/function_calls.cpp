#include "data/chat/function_calls.hpp"

#include <utility>

#include "data/chat/record_fields.hpp"

namespace ziggurat::data {
namespace {

/// Returns a call with the JSON object of its arguments instead of their text.
ChatJson with_object(ChatJson call) {
    if (call.contains("arguments") && call["arguments"].is_string()) {
        auto arguments = ChatJson::parse(call["arguments"].get<std::string>(), nullptr, false);
        if (arguments.is_object()) {
            call["arguments"] = std::move(arguments);
        }
    }
    return call;
}

}  // namespace

void replace_function_calls(ChatRecord& record, const std::string& chat_template) {
    if (chat_template.find("function_call") != std::string::npos) {
        return;
    }
    bool has_calls = false;
    for (auto& message : record.messages) {
        if (has_field(message, "function_call") && message["function_call"].is_object() &&
            !has_field(message, "tool_calls")) {
            auto call = with_object(message["function_call"]);
            message.erase("function_call");
            message["tool_calls"] = ChatJson::array();
            message["tool_calls"].push_back({{"type", "function"}, {"function", std::move(call)}});
            has_calls = true;
        }
    }
    for (auto& message : record.messages) {
        if (has_calls && message["role"] == "function") {
            message["role"] = "tool";
        }
    }
}

}  // namespace ziggurat::data
