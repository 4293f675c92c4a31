/// Records of preferences: a prompt with a chosen and a rejected answer.
#pragma once

#include <string>
#include <vector>

#include "data/chat/chat_record.hpp"
#include "data/chat/record_fields.hpp"

namespace ziggurat::data {

/// Rejects a `system` for texts, which no template renders, unless the text contains it.
///
/// Errors: Error{deck}
void expect_no_system(RecordFields& record, const std::string& text);

/// Returns the conversations that end with `chosen` and `rejected`.
///
/// An answer is a text, a message with a role, a turn of ShareGPT, or a list of messages.
///
/// Errors: Error{deck} that names the field, also of the other functions
std::vector<ChatRecord> answers_after(const ChatRecord& prompt, RecordFields& record);

/// Returns the answers of a record whose `prompt` is a text, as must be its answers.
std::vector<ChatRecord> answers_to_text(RecordFields& record);

/// Returns the answers of a record with two whole conversations; their prompt is the common beginning.
///
/// An answer has at least one message. A `prompt` or `messages` that both begin with is used, too.
std::vector<ChatRecord> split_messages(RecordFields& record);

/// Returns the answers of a record with two whole texts, whose prompt is their common beginning.
///
/// The prompt ends before its last white space: the answers begin with whole words, and thus with tokens of
/// their own.
std::vector<ChatRecord> split_texts(RecordFields& record);

}  // namespace ziggurat::data
