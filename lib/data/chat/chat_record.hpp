/// Records of conversations in the formats of other programs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/chat/template_process.hpp"

namespace ziggurat::data {

/// Kind of a record, recognised by its fields.
enum class RecordKind {
    conversation,  ///< messages, Alpaca or ShareGPT; also prompt/completion as messages
    plain_pair,    ///< prompt/completion as texts, which no template renders
    text           ///< one text, which no template renders
};

/// A record in one form.
struct ChatRecord {
    RecordKind kind = RecordKind::text;
    ChatJson messages = ChatJson::array();    ///< of a conversation: objects with a text `role`
    ChatJson variables = ChatJson::object();  ///< for the template: tools, documents, chat_template_kwargs
    bool has_tools = false;
    /// Number of messages of the prompt, which never count; 0 for records without a prompt of their own.
    std::int64_t prompt_messages = 0;
    std::string prompt, text;  ///< of a plain pair, prompt and completion; of a text, `text`
};

/// Parses a record.
///
///     {"messages": [{"role", "content", ...}], "tools"?, "documents"?, "chat_template_kwargs"?}
///     {"prompt", "completion", "tools"?}                     two texts, or two lists of messages
///     {"instruction", "input"?, "output", "system"?, "history"?}                          Alpaca
///     {"conversations": [{"from", "value"}], "system"?, "tools"?}                       ShareGPT
///     {"text"}
///
/// Roles of ShareGPT are converted: human and user; gpt, chatgpt, bing, bard and assistant; system;
/// observation and tool become `tool`. The JSON of a function_call becomes the tool_calls of an assistant.
///
/// Source: LLaMA-Factory 0.9, data/converter.py; TRL 0.23, data_utils.py
/// Errors: Error{deck} that names the field
ChatRecord parse_chat_record(std::string_view json);

}  // namespace ziggurat::data
