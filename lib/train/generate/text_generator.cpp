#include "train/generate/text_generator.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/clock.hpp"
#include "base/philox.hpp"
#include "train/generate/cached_sequences.hpp"
#include "train/generate/draw_token.hpp"

namespace ziggurat::train {
namespace {

/// Philox stream identifier: separates the random numbers of sampling from all others of the same seed.
constexpr std::uint32_t sampling_purpose = 0x53414d50;

/// Returns the text after the prompt up to the first of `ends`; nullopt if it contains none of them.
std::optional<std::string> find_end(const data::TextTokenizer& tokenizer,
                                    std::span<const std::int32_t> text,
                                    std::size_t prompt,
                                    const std::vector<std::string>& ends) {
    if (ends.empty()) {
        return std::nullopt;
    }
    auto after = data::decoded_after(tokenizer, text.first(prompt), text.subspan(prompt));
    auto first = std::string::npos;
    for (const auto& end : ends) {
        first = std::min(first, after.find(end));
    }
    if (first == std::string::npos) {
        return std::nullopt;
    }
    after.resize(first);
    return after;
}

std::vector<std::int32_t> prompt_tokens(const spec::RunSpec& spec,
                                        const data::TextTokenizer& tokenizer,
                                        const std::string& prompt) {
    std::vector<std::int32_t> text;
    data::encode_whole_text(tokenizer, spec.data.add_bos, prompt, text);
    if (text.empty() && tokenizer.document_token()) {
        text.push_back(*tokenizer.document_token());
    } else if (text.empty()) {
        tokenizer.encode("\n", text);
    }
    return text;
}

/// Uniform random number of the token `position` of the text that is generated after `step`.
double random_of(std::uint64_t seed, std::int64_t step, std::int64_t position) {
    const auto words =
        Philox4x32::generate({static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(step),
                              static_cast<std::uint32_t>(step >> 32), sampling_purpose},
                             {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
    return static_cast<double>(uniform(words[0]));
}

/// The text that the cache holds, up to its last token.
class CachedText {
  public:
    CachedText(const spec::RunSpec& spec, Assembly& assembly)
        : passes_{spec, assembly}, sequence_{passes_.open()} {}

    /// Makes the cache hold `text` without its last token. Returns the number of tokens that it reads.
    std::int64_t read(std::span<const std::int32_t> text) {
        const auto limit = passes_.max_positions();
        const bool is_full = passes_.length(sequence_) == limit;
        if (const auto read = passes_.length(sequence_); read > 0 && !is_full) {
            return 0;  // each token is added when the one after it is drawn
        }
        passes_.close(sequence_);
        sequence_ = passes_.open();
        const auto kept = std::min(std::ssize(text), is_full ? std::max<std::int64_t>(1, limit / 2) : limit);
        std::vector<NextToken> tokens;
        for (const auto token : text.last(kept).first(kept - 1)) {
            tokens.push_back({sequence_, token});
        }
        passes_.read_prompts(tokens, passes_.passes_for(schedule::CachedKind::prompt, std::ssize(tokens)));
        return std::ssize(tokens);
    }

    std::span<const float> logits_after(std::int32_t token) { return passes_.logits(sequence_, token); }

  private:
    CachedSequences passes_;
    int sequence_;
};

}  // namespace

std::optional<GeneratedText> generate_text(const spec::RunSpec& spec,
                                           Assembly& assembly,
                                           const data::TextTokenizer& tokenizer,
                                           const spec::Sample& sample,
                                           std::int64_t step,
                                           const TextLimits& limits,
                                           const std::function<bool()>& stops) {
    const Drawing drawing{sample.temperature, limits.top_k, limits.top_p};
    auto text = prompt_tokens(spec, tokenizer, sample.prompt);
    const auto prompt = text.size();
    CachedText cached{spec, assembly};
    std::vector<double> weights(spec.model.vocab);
    GeneratedText made;
    std::optional<std::string> end;
    for (std::int64_t position = 0; position < sample.tokens && !end; ++position) {
        if (stops && stops()) {
            return std::nullopt;
        }
        const auto begin_ns = monotonic_ns();
        const auto read = cached.read(text);
        const auto read_ns = monotonic_ns();
        auto& reading = position == 0 ? made.prompt : made.again;
        reading.tokens += read;
        reading.seconds += seconds_between(begin_ns, read_ns);
        // A model may have more rows than its tokenizer has tokens.
        auto logits = cached.logits_after(text.back());
        logits = logits.first(std::min(logits.size(), static_cast<std::size_t>(tokenizer.vocab_size())));
        text.push_back(draw_token(logits, drawing, random_of(spec.run.seed, step, position), weights));
        made.seconds += seconds_between(read_ns, monotonic_ns());
        if (std::ranges::find(limits.end_tokens, text.back()) != limits.end_tokens.end()) {
            const std::span before{text.data(), text.size() - 1};
            end = data::decoded_after(tokenizer, before.first(prompt), before.subspan(prompt));
        } else {
            end = find_end(tokenizer, text, prompt, limits.ends);
        }
    }
    const std::span all{text};
    made.text = end ? *end : data::decoded_after(tokenizer, all.first(prompt), all.subspan(prompt));
    made.prompt_tokens = made.prompt.tokens + (sample.tokens > 0 ? 1 : 0);
    made.tokens = std::ssize(text) - static_cast<std::int64_t>(prompt);
    return made;
}

}  // namespace ziggurat::train
