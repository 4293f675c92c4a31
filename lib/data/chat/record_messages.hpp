/// Messages and variables of records of conversations.
#pragma once

#include <string>

#include "data/chat/chat_record.hpp"
#include "data/chat/record_fields.hpp"

namespace ziggurat::data {

ChatJson make_message(const char* role, std::string content);

/// Returns a conversation without messages.
ChatRecord make_conversation();

/// Inserts the text `system` of a record before the messages.
///
/// Messages that begin with a system message keep it, as in LLaMA-Factory and axolotl; then `system` is not
/// used unless it is equal.
///
/// Errors: Error{deck} that names the field; those of the other functions are like this
void insert_system(RecordFields& record, ChatRecord& made);

/// Appends the messages of a field: a list of messages with roles or of turns of ShareGPT.
void append_messages(RecordFields& record, const char* key, ChatRecord& made);

/// Appends a message with a role, or a turn of ShareGPT, `{from, value}`.
///
/// Null fields are omitted, except `content`: templates ask if a field is defined. TRL and axolotl do the
/// same.
void append_message(const ChatJson& message, const std::string& location, ChatRecord& made);

/// Reads variables of the template: tools, functions, documents and chat_template_kwargs.
///
/// Tools may be JSON in a text, as columns of one type require. `functions`, OpenAI's earlier field, become
/// tools.
void read_variables(RecordFields& record, ChatRecord& made);

}  // namespace ziggurat::data
