/// Calls of functions in OpenAI's earlier form.
#pragma once

#include <string>

#include "data/chat/chat_record.hpp"

namespace ziggurat::data {

/// Converts the `function_call` of messages to `tool_calls`, and the role `function` to `tool`.
///
/// Arguments that are JSON in a text become an object, as templates expect. A template that mentions
/// `function_call` gets the messages unchanged.
///
/// \param chat_template  the text of the template
/// Source: OpenAI, API reference, chat completions (deprecated functions and function_call)
void replace_function_calls(ChatRecord& record, const std::string& chat_template);

}  // namespace ziggurat::data
