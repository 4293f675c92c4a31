/// Prompts of conversations, and the tokens that end an answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/chat/chat_record.hpp"
#include "data/chat/chat_template.hpp"
#include "data/chat/template_engine.hpp"
#include "data/chat/template_process.hpp"
#include "data/tokenizer/text_tokenizer.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// Renders conversations with the generation prompt, all by one process. For one thread.
///
/// An answer ends at the document token (eos_token), at configured_ends(), at the added token that ends a
/// rendered turn of the assistant, and at the trained ends.
class ChatPrompts {
  public:
    /// \param folder        path of the tokenizer, as for find_chat_template()
    /// \param trained_ends  tokens that end turns in the training data: trained_turn_ends()
    /// Errors: those of TemplateProcess; Error{deck} if no token ends an answer
    ChatPrompts(const TextTokenizer& tokenizer,
                const std::string& folder,
                ChatTemplate chat,
                const TemplateEngine& engine,
                const std::vector<std::int32_t>& trained_ends);

    /// Returns the text of a conversation, with its special tokens, so none is added.
    ///
    /// Errors: Error{deck} of TemplateProcess
    std::string render(const ChatRecord& conversation);
    /// Returns the tokens that end an answer, in order.
    const std::vector<std::int32_t>& end_tokens() const noexcept { return end_tokens_; }

  private:
    ChatTemplate chat_;
    TemplateProcess process_;
    std::vector<std::int32_t> end_tokens_;
};

/// Returns the choice of the template of a run: that of its first source of conversations; empty: auto.
std::string chat_template_choice(const spec::Data& data);

/// Returns the conversation that begins with a user's message.
///
/// \param system  empty: no system message
/// Errors: Error{deck} if a text is not UTF-8
ChatRecord make_question(const std::string& system, const std::string& user);

}  // namespace ziggurat::data
