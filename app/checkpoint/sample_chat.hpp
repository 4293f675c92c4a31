/// Conversation of `sample --chat` with a user who writes on standard input.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/checkpoint/checkpoint_options.hpp"
#include "comm/context.hpp"
#include "data/chat/chat_prompt.hpp"
#include "data/tokenizer/text_tokenizer.hpp"
#include "spec/run_spec.hpp"
#include "train/generate/text_generator.hpp"

namespace ziggurat::app {

/// Reads turns, and prints answers as they are generated. For rank 0.
///
/// A turn is a line. `/reset` starts a new conversation; `/quit` and the end of the input end it.
class SampleChat {
  public:
    /// All arguments must outlive this.
    SampleChat(const SampleOptions& options,
               const spec::RunSpec& run,
               const data::TextTokenizer& tokenizer,
               data::ChatPrompts& prompts);

    /// Returns the conversation with the next turn; empty at the end.
    ///
    /// It prints the reason why a turn cannot be answered, and reads the next one.
    std::optional<train::TextPrompt> next();
    /// Prints the new stable text of the answer.
    void show(const train::GrowingText& text);
    /// Ends the answer and adds it to the conversation.
    void end_answer(const train::GeneratedText& made);
    /// Returns true if a turn was answered, or the input is a terminal.
    bool had_input() const { return has_answered_ || is_terminal_; }

  private:
    void reset();
    std::optional<std::string> read_line() const;
    /// Returns true if the line is a command, after it did what it says.
    bool obey(const std::string& line);
    std::optional<train::TextPrompt> ask(const std::string& turn);

    const SampleOptions& options_;
    const spec::RunSpec& run_;
    const data::TextTokenizer& tokenizer_;
    data::ChatPrompts& prompts_;
    bool is_terminal_;
    bool has_ended_ = false, has_answered_ = false;
    data::ChatRecord conversation_;
    std::string shown_;  ///< of the answer
};

/// Answers turns until the input ends. Returns the exit code.
///
/// \param chat  nullptr except on rank 0
/// Collective: over `world`
int hold_conversation(const comm::Context& world, SampleChat* chat, train::TextGenerator& generator);

}  // namespace ziggurat::app
