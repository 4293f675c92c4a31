/// Records of preferences: a prompt with a chosen and a rejected answer.
#pragma once

#include <vector>

#include "data/chat/chat_record.hpp"

namespace ziggurat::data {

/// Returns the conversations that end with `chosen` and `rejected`.
///
/// An answer is a text, a message with a role, a turn of ShareGPT, or a list of messages.
///
/// Errors: Error{deck} that names the field, also of the other functions
std::vector<ChatRecord> answers_after(const ChatRecord& prompt, const ChatJson& record);

/// Returns the answers of a record whose `prompt` is a text, as must be its answers.
std::vector<ChatRecord> answers_to_text(const ChatJson& record);

/// Returns the answers of a record with two whole conversations; their prompt is the common beginning.
///
/// An answer has at least one message.
std::vector<ChatRecord> split_messages(const ChatJson& record);

/// Returns the answers of a record with two whole texts, whose prompt is their common beginning.
///
/// The prompt ends before its last white space: the answers begin with whole words, and thus with tokens of
/// their own.
std::vector<ChatRecord> split_texts(const ChatJson& record);

}  // namespace ziggurat::data
