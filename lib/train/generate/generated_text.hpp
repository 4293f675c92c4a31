/// A generated text, token by token, and where it ends.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer/text_tokenizer.hpp"
#include "spec/run_spec.hpp"
#include "train/generate/draw_token.hpp"

namespace ziggurat::train {

/// Tokens that a text continues, and those that end it.
struct TextPrompt {
    std::vector<std::int32_t> tokens;           ///< at least one
    std::vector<std::int32_t> end_tokens = {};  ///< the text ends before the first of these tokens
};

/// Encodes a prompt. An empty one becomes the document token, else a newline.
TextPrompt encode_prompt(const data::TextTokenizer& tokenizer, spec::AddBos add_bos, std::string_view text);

/// Sampling and stop parameters of generated texts.
struct TextSettings {
    std::int64_t tokens = 1;  ///< maximum number of tokens to generate; at least 1
    Drawing drawing = {};
    std::vector<std::string> ends = {};  ///< stop strings: a text ends before the first of them
    std::int64_t step = 0;               ///< key of the random numbers, besides run.seed
};

/// Reason why a text ends.
enum class TextEnd { end_token, stop_text, length };

/// Returns "end", "stop" or "length".
std::string_view to_string(TextEnd end);

struct GeneratedText {
    std::string text;
    std::int64_t tokens = 0;  ///< generated, with the one that ended the text
    TextEnd end = TextEnd::length;
};

/// A text that grows by one token at a time.
class GrowingText {
  public:
    /// All arguments must outlive this.
    GrowingText(const data::TextTokenizer& tokenizer, const TextPrompt& prompt, const TextSettings& settings);

    /// Returns the tokens of the prompt and those of the text.
    std::span<const std::int32_t> tokens() const { return tokens_; }
    std::int64_t generated() const { return std::ssize(tokens_) - std::ssize(prompt_->tokens); }
    /// Adds a token. \pre !has_ended()
    void add(std::int32_t token);
    /// Ends the text with its tokens so far. \pre !has_ended()
    void end_here();
    bool has_ended() const { return end_.has_value(); }
    /// Returns the text. \pre has_ended()
    GeneratedText result() const;
    /// Returns the beginning of the text that no later token changes.
    ///
    /// It omits an incomplete character, and what may be the beginning of a stop string.
    std::string stable_text() const;

  private:
    std::string decoded(std::int64_t without_last = 0) const;

    // Pointers, so that texts can be assigned.
    const data::TextTokenizer* tokenizer_;
    const TextPrompt* prompt_;
    const TextSettings* settings_;
    std::vector<std::int32_t> tokens_;
    std::optional<TextEnd> end_;
    std::string text_;  ///< set at the end
};

}  // namespace ziggurat::train
