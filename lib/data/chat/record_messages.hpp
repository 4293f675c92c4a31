/// Messages, texts and variables of records of conversations.
#pragma once

#include <string>

#include "data/chat/chat_record.hpp"

namespace ziggurat::data {

/// Returns true if the object has a value that is not null.
bool has_field(const ChatJson& object, const char* key);

/// Returns a text of a record; empty if it is missing and `is_optional`.
///
/// Errors: Error{deck} that names the field; those of the other functions are like this
std::string text_field(const ChatJson& record, const char* key, bool is_optional = false);

ChatJson make_message(const char* role, std::string content);

/// Returns a conversation without messages.
ChatRecord make_conversation();

/// Appends the text `system` of a record, if there is one.
void append_system(const ChatJson& record, ChatRecord& made);

/// Appends a list of messages with roles.
void append_messages(const ChatJson& list, const char* key, ChatRecord& made);

/// Appends a turn of ShareGPT, `{from, value}`.
void append_turn(const ChatJson& turn, const std::string& location, ChatRecord& made);

/// Appends a message with a role, or a turn of ShareGPT.
void append_message(const ChatJson& message, const std::string& location, ChatRecord& made);

/// Reads variables of the template. Tools may be JSON in a text, as columns of one type require.
void read_variables(const ChatJson& record, ChatRecord& made);

}  // namespace ziggurat::data
