/// Records of prompts: texts to continue, and conversations to answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/chat/chat_record.hpp"

namespace ziggurat::data {

/// A prompt of a file, and what its answer line repeats.
struct PromptRecord {
    std::int64_t line = 0;  ///< in its file, from 1
    ChatJson given;         ///< the record's `id`, if it has one, and its `prompt` or `messages`
    bool is_chat = false;   ///< `conversation` is to be rendered; otherwise `text` is continued
    std::string text;
    ChatRecord conversation;
    std::vector<std::string> unused_fields;  ///< names of fields that have a value and are not used
};

/// Form of a `prompt` that is a text, and the system message of conversations without one.
struct PromptForm {
    bool is_chat = false;  ///< such a prompt is a user's message
    std::string system;    ///< empty: none
};

/// Parses a record.
///
///     {"id"?, "prompt": text}                            a text to continue, or a user's message
///     {"id"?, "prompt" or "messages": [{"role", "content", ...}, ...]}       a conversation to answer
///
/// Conversations also have `system`, `tools` or `functions`, `documents` and `chat_template_kwargs`, as in
/// parse_chat_records().
///
/// Errors: Error{deck} that names the field
PromptRecord parse_prompt_record(std::string_view json, const PromptForm& form);

/// Reads the records of a file or a pipe: JSON lines or an array, which may be compressed.
///
/// \param name  of the file in messages
/// Errors: Error{deck} with file, line and the problem
std::vector<PromptRecord> read_prompt_records(const std::string& path,
                                              const std::string& name,
                                              const PromptForm& form);

}  // namespace ziggurat::data
