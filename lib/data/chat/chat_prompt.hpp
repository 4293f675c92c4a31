/// Prompts of conversations, and the tokens that end an answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/chat/chat_template.hpp"
#include "data/chat/template_engine.hpp"
#include "data/tokenizer/text_tokenizer.hpp"

namespace ziggurat::data {

struct ChatPrompt {
    std::string text;                      ///< with its special tokens, so none is added
    std::vector<std::int32_t> end_tokens;  ///< that end an answer, in order
};

/// Renders a user's message with the generation prompt.
///
/// An answer ends at the document token (eos_token), at configured_ends(), at the added token that ends a
/// rendered turn of the assistant, and at `trained_ends`.
///
/// \param folder        path of the tokenizer, as for find_chat_template()
/// \param trained_ends  tokens that end turns in the training data: trained_turn_ends()
/// \param system        empty: no system message
/// Errors: those of TemplateProcess; Error{deck} if no token ends an answer
ChatPrompt make_chat_prompt(const TextTokenizer& tokenizer,
                            const std::string& folder,
                            const ChatTemplate& chat,
                            const TemplateEngine& engine,
                            const std::vector<std::int32_t>& trained_ends,
                            const std::string& system,
                            const std::string& user);

}  // namespace ziggurat::data
