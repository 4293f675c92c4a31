#include "app/checkpoint/sample_output.hpp"

#include <fmt/format.h>

#include <utility>

namespace ziggurat::app {
namespace {

std::string tokens(std::int64_t number) {
    return fmt::format("{} token{}", number, number == 1 ? "" : "s");
}

/// Returns " at 910 tokens/s"; empty if there are no tokens.
std::string rate_of(const train::TimedTokens& timed) {
    return timed.tokens > 0
               ? fmt::format(" at {:.4g} tokens/s", static_cast<double>(timed.tokens) / timed.seconds)
               : "";
}

}  // namespace

SampleAnswers::SampleAnswers(std::size_t prompts, std::int64_t answers)
    : texts_(prompts, std::vector<train::GeneratedText>(answers)), missing_(prompts, answers) {}

void SampleAnswers::add(std::int64_t prompt, std::int64_t answer, train::GeneratedText text) {
    texts_.at(prompt).at(answer) = std::move(text);
    --missing_[prompt];
}

std::optional<std::size_t> SampleAnswers::next() {
    return next_ < texts_.size() && missing_[next_] == 0 ? std::optional{next_++} : std::nullopt;
}

std::string answer_line(const data::PromptRecord& record, const std::vector<train::GeneratedText>& texts) {
    auto line = record.given;
    auto answers = data::ChatJson::array();
    for (const auto& text : texts) {
        answers.push_back({{"text", text.text}, {"tokens", text.tokens}, {"reason", to_string(text.end)}});
    }
    line["answers"] = std::move(answers);
    return line.dump(-1, ' ', false, data::ChatJson::error_handler_t::replace) + "\n";
}

std::string speed_of(const train::GenerationTimes& times, std::size_t prompts) {
    auto text = fmt::format(
        "{}{}, after {} of {}{}", tokens(times.made.tokens), rate_of(times.made), tokens(times.prompt_tokens),
        prompts == 1 ? "the prompt" : fmt::format("{} prompts", prompts), rate_of(times.prompts));
    if (times.again.tokens > 0) {
        text += fmt::format("; {} read again{}, because {} reached data.seq", tokens(times.again.tokens),
                            rate_of(times.again), prompts == 1 ? "the text" : "texts");
    }
    return text;
}

}  // namespace ziggurat::app
