/// Fields of messages that include them in the loss or exclude them from it.
#pragma once

#include <optional>
#include <string>

#include "data/chat/template_process.hpp"

namespace ziggurat::data {

/// Returns true if the field belongs to the loss, and not to the template.
bool is_training_field(const std::string& key);

/// Returns true if the fields of a message include it in the loss, false if they exclude it.
///
/// Empty if it has no such field.
///
/// The fields are `weight` (0 or 1; OpenAI, Mistral), `loss_scale`, `train`, `training`, `trainable`
/// (axolotl) and `loss` (ms-swift, true or false).
///
/// \param location  the message, for messages
/// Source: OpenAI, API reference, FineTuneChatCompletionRequestAssistantMessage; mistral-finetune,
///         finetune/data/tokenize.py; axolotl, prompt_strategies/chat_template.py
/// Errors: Error{deck} for other values, two fields that contradict each other, and a weight of parts of a
///         message
std::optional<bool> counts_by_field(const ChatJson& message, const std::string& location);

/// Rejects content of other kinds than text, and a weight of parts of a message.
///
/// Errors: Error{deck} that names the message and the part
void expect_supported_content(const ChatJson& message, const std::string& location);

}  // namespace ziggurat::data
