/// Records of conversations in the formats of other programs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/chat/template_process.hpp"

namespace ziggurat::data {

/// Kind of a record, recognised by its fields.
enum class RecordKind {
    conversation,  ///< messages, Alpaca or ShareGPT; also prompt/completion as messages
    plain_pair,    ///< prompt/completion as texts, or prompt/answer, which no template renders
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
    bool is_answer = false;         ///< an answer of a preference; its prompt never counts
    bool counts_last_only = false;  ///< only the last message of an assistant counts (Mistral's only_last)
    std::string prompt, text;       ///< of a plain pair, prompt and completion; of a text, `text`
    /// Names of fields of the record that have a value and are not used; set in the first of two answers.
    std::vector<std::string> unused_fields;
};

/// Parses a record. Returns the chosen and the rejected answer of a preference, else one record.
///
///     {"messages": [{"role", "content", ...}], ...}
///     {"prompt", "completion", ...}                          two texts, or two lists of messages
///     {"instruction", "input"?, "output", "history"?, ...}                                Alpaca
///     {"conversations": [{"from", "value", ...}], ...}                                  ShareGPT
///     {"text"}
///
/// A record with `chosen` and `rejected` is a preference:
///
///     {"prompt", "chosen", "rejected", ...}                  texts, or a list of messages and answers to it
///     {"messages" or "conversations", "chosen", "rejected", ...}                   LLaMA-Factory
///     {"instruction", "input"?, "chosen", "rejected", "history"?, ...}             LLaMA-Factory
///     {"question" or "input", "chosen", "rejected", ...}                                 axolotl
///     {"input": {"messages", ...}, "preferred_output", "non_preferred_output"}            OpenAI
///     {"chosen", "rejected", ...}          whole texts or lists; the prompt is their common beginning
///
/// Conversations also have `system`, `tools` or `functions`, `documents`, `chat_template_kwargs` and
/// `only_last`. RecordFields lists other names of fields. Null values and empty lists are missing fields.
///
/// An answer to messages is a text, a message or a list of messages. A `prompt` that is a text, next to
/// lists, is not read: they begin with it.
///
/// Roles of ShareGPT are converted: human and user; gpt, chatgpt, bing, bard and assistant; system;
/// observation and tool become `tool`. The JSON of a function_call becomes the tool_calls of an assistant.
///
/// Source: LLaMA-Factory 0.9, data/converter.py; TRL 0.23, data_utils.py (maybe_extract_prompt); axolotl,
///         prompt_strategies/chat_template.py and dpo/chatml.py
/// Errors: Error{deck} that names the field
std::vector<ChatRecord> parse_chat_records(std::string_view json);

}  // namespace ziggurat::data
