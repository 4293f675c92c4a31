#include "train/generate/generated_text.hpp"

#include <algorithm>

#include "base/contract.hpp"

namespace ziggurat::train {
namespace {

constexpr std::size_t max_character_bytes = 4;

/// Returns the bytes of the complete UTF-8 characters at the beginning of a text.
///
/// Bytes that begin no character count as complete: no later byte changes them.
std::size_t complete_bytes(std::string_view text) {
    for (std::size_t last = 1; last <= std::min(max_character_bytes - 1, text.size()); ++last) {
        const auto lead = static_cast<unsigned char>(text[text.size() - last]);
        const std::size_t needed = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
        if (needed > last && needed > 1) {
            return text.size() - last;
        }
        if (lead < 0x80 || lead >= 0xC0) {
            break;
        }
    }
    return text.size();
}

}  // namespace

TextPrompt encode_prompt(const data::TextTokenizer& tokenizer, spec::AddBos add_bos, std::string_view text) {
    TextPrompt prompt;
    data::encode_whole_text(tokenizer, add_bos, text, prompt.tokens);
    if (prompt.tokens.empty() && tokenizer.document_token()) {
        prompt.tokens.push_back(*tokenizer.document_token());
    } else if (prompt.tokens.empty()) {
        tokenizer.encode("\n", prompt.tokens);
    }
    return prompt;
}

std::string_view to_string(TextEnd end) {
    switch (end) {
        case TextEnd::end_token:
            return "end";
        case TextEnd::stop_text:
            return "stop";
        case TextEnd::length:
            return "length";
    }
    ZG_EXPECTS(!"an unknown end");
    return "";
}

GrowingText::GrowingText(const data::TextTokenizer& tokenizer,
                         const TextPrompt& prompt,
                         const TextSettings& settings)
    : tokenizer_{&tokenizer}, prompt_{&prompt}, settings_{&settings}, tokens_{prompt.tokens} {
    ZG_EXPECTS(!tokens_.empty() && settings.tokens > 0);
}

std::string GrowingText::decoded(std::int64_t without_last) const {
    const auto all = std::span{tokens_}.first(tokens_.size() - static_cast<std::size_t>(without_last));
    const auto prompt = prompt_->tokens.size();
    return data::decoded_after(*tokenizer_, all.first(prompt), all.subspan(prompt));
}

void GrowingText::add(std::int32_t token) {
    ZG_EXPECTS(!has_ended());
    tokens_.push_back(token);
    if (std::ranges::find(prompt_->end_tokens, token) != prompt_->end_tokens.end()) {
        end_ = TextEnd::end_token;
        text_ = decoded(1);
        return;
    }
    const bool is_full = generated() == settings_->tokens;
    if (settings_->ends.empty() && !is_full) {
        return;
    }
    const auto text = decoded();
    auto first = std::string::npos;
    for (const auto& stop : settings_->ends) {
        first = std::min(first, text.find(stop));
    }
    if (first != std::string::npos) {
        end_ = TextEnd::stop_text;
        text_ = text.substr(0, first);
    } else if (is_full) {
        end_here();
    }
}

void GrowingText::end_here() {
    ZG_EXPECTS(!has_ended());
    end_ = TextEnd::length;
    text_ = decoded();
}

GeneratedText GrowingText::result() const {
    return {.text = text_, .tokens = generated(), .end = end_.value()};
}

std::string GrowingText::stable_text() const {
    if (has_ended()) {
        return text_;
    }
    auto text = decoded();
    auto kept = complete_bytes(text);
    for (const auto& stop : settings_->ends) {
        for (auto length = std::min(stop.size() - 1, text.size()); length > 0; --length) {
            if (text.ends_with(std::string_view{stop}.substr(0, length))) {
                kept = std::min(kept, text.size() - length);
                break;
            }
        }
    }
    text.resize(kept);
    return text;
}

}  // namespace ziggurat::train
