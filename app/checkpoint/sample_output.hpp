/// Output of `sample`: texts, lines of answers, and speeds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/chat/prompt_record.hpp"
#include "train/generate/text_generator.hpp"

namespace ziggurat::app {

/// Texts after each prompt, and the order in which they are printed.
class SampleAnswers {
  public:
    SampleAnswers(std::size_t prompts, std::int64_t answers);

    void add(std::int64_t prompt, std::int64_t answer, train::GeneratedText text);
    /// Returns the next prompt, in order, all of whose texts exist; empty if some are missing.
    std::optional<std::size_t> next();
    const std::vector<train::GeneratedText>& of(std::size_t prompt) const { return texts_.at(prompt); }

  private:
    std::vector<std::vector<train::GeneratedText>> texts_;
    std::vector<std::int64_t> missing_;  ///< by prompt
    std::size_t next_ = 0;
};

/// Returns `{"id", "prompt" or "messages", "answers": [{"text", "tokens", "reason"}]}` and a newline.
///
/// Bytes of a text that are not UTF-8 become U+FFFD.
std::string answer_line(const data::PromptRecord& record, const std::vector<train::GeneratedText>& texts);

/// Returns "200 tokens at 31.4 tokens/s, after 52 tokens of the prompt at 910 tokens/s".
std::string speed_of(const train::GenerationTimes& times, std::size_t prompts);

}  // namespace ziggurat::app
