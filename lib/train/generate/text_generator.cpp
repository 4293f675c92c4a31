#include "train/generate/text_generator.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/contract.hpp"
#include "base/philox.hpp"
#include "layout/host_workspaces.hpp"
#include "spec/passes_with_cache.hpp"

namespace ziggurat::train {
namespace {

static_assert(spec::max_texts_at_once == layout::HostWorkspaces::max_rows_in_place);

/// Philox stream identifier: separates the random numbers of sampling from all others of the same seed.
constexpr std::uint32_t sampling_purpose = 0x53414d50;

/// Uniform random number of the token `position` of the text `answer` that is generated after `step`.
double random_of(std::uint64_t seed, std::int64_t step, std::int64_t answer, std::int64_t position) {
    const auto words = Philox4x32::generate(
        {static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(step),
         static_cast<std::uint32_t>(step >> 32), sampling_purpose + static_cast<std::uint32_t>(answer)},
        {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
    return static_cast<double>(uniform(words[0]));
}

std::span<const std::int32_t> without_last(std::span<const std::int32_t> tokens) {
    return tokens.first(tokens.size() - 1);
}

}  // namespace

TextGenerator::TextGenerator(const spec::RunSpec& spec,
                             Assembly& assembly,
                             const data::TextTokenizer& tokenizer,
                             const TextSettings& settings)
    : spec_{spec},
      tokenizer_{tokenizer},
      settings_{settings},
      passes_{spec, assembly},
      weights_(spec.model.vocab) {}

void TextGenerator::read(int sequence, std::span<const std::int32_t> tokens, TimedTokens& times) {
    const auto begin_ns = monotonic_ns();
    std::vector<NextToken> next;
    for (const auto token : tokens) {
        next.push_back({sequence, token});
    }
    passes_.read_prompts(next, passes_.passes_for(schedule::CachedKind::prompt, std::ssize(next)));
    times.tokens += std::ssize(next);
    times.seconds += seconds_between(begin_ns, monotonic_ns());
}

TextGenerator::Slot TextGenerator::begin(std::span<const TextPrompt> prompts,
                                         std::int64_t prompt,
                                         std::int64_t answer,
                                         std::int64_t answers) {
    const std::span<const std::int32_t> all{prompts[prompt].tokens};
    const auto kept = all.last(std::min(all.size(), static_cast<std::size_t>(passes_.max_positions())));
    if (answer == 0) {
        if (prompt_sequence_ >= 0) {
            passes_.close(prompt_sequence_);
        }
        prompt_sequence_ = passes_.open();
        read(prompt_sequence_, without_last(kept), times_.prompts);
        times_.prompt_tokens += std::ssize(kept);
    }
    int sequence = prompt_sequence_;
    if (answers == 1) {
        prompt_sequence_ = -1;  // the text continues in it
    } else {
        sequence = passes_.fork(prompt_sequence_, passes_.length(prompt_sequence_));
    }
    return {prompt, answer, sequence, {tokenizer_, prompts[prompt], settings_}};
}

void TextGenerator::read_again(Slot& slot) {
    passes_.close(slot.sequence);
    slot.sequence = passes_.open();
    const auto kept = std::max<std::int64_t>(1, passes_.max_positions() / 2);
    read(slot.sequence, without_last(slot.text.tokens().last(static_cast<std::size_t>(kept))), times_.again);
}

void TextGenerator::extend(std::span<Slot> slots) {
    const auto begin_ns = monotonic_ns();
    std::vector<NextToken> next;
    for (const auto& slot : slots) {
        next.push_back({slot.sequence, slot.text.tokens().back()});
    }
    const auto logits = passes_.logits(next);
    // A model may have more rows than its tokenizer has tokens.
    const auto columns = std::min<std::size_t>(spec_.model.vocab, tokenizer_.vocab_size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
        auto& slot = slots[i];
        const auto random = random_of(spec_.run.seed, settings_.step, slot.answer, slot.text.generated());
        slot.text.add(
            draw_token(logits.subspan(i * spec_.model.vocab, columns), settings_.drawing, random, weights_));
    }
    times_.made.tokens += std::ssize(slots);
    times_.made.seconds += seconds_between(begin_ns, monotonic_ns());
}

bool TextGenerator::generate(std::span<const TextPrompt> prompts,
                             std::int64_t answers,
                             const OnText& on_text,
                             const std::function<bool()>& stops) {
    const auto at_once = static_cast<std::size_t>(passes_.max_texts());
    const auto texts = std::ssize(prompts) * answers;
    std::vector<Slot> slots;
    for (std::int64_t begun = 0; begun < texts || !slots.empty();) {
        if (stops && stops()) {
            return false;
        }
        for (; begun < texts && slots.size() < at_once; ++begun) {
            slots.push_back(begin(prompts, begun / answers, begun % answers, answers));
        }
        for (auto& slot : slots) {
            if (passes_.length(slot.sequence) == passes_.max_positions()) {
                read_again(slot);
            }
        }
        extend(slots);
        for (const auto& slot : slots) {
            if (slot.text.has_ended()) {
                on_text(slot.prompt, slot.answer, slot.text.result());
                passes_.close(slot.sequence);
            }
        }
        std::erase_if(slots, [](const Slot& slot) { return slot.text.has_ended(); });
    }
    return true;
}

GeneratedText TextGenerator::answer(const TextPrompt& prompt,
                                    const std::function<void(const GrowingText&)>& on_token) {
    const auto read_before = without_last(prompt.tokens);
    if (prompt_sequence_ < 0) {
        prompt_sequence_ = passes_.open();
    }
    auto common = std::ranges::mismatch(read_before, prompt_tokens_).in1 - read_before.begin();
    if (!passes_.can_cut(prompt_sequence_, common)) {
        common = 0;
    }
    passes_.cut(prompt_sequence_, common);
    read(prompt_sequence_, read_before.subspan(common), times_.prompts);
    prompt_tokens_.assign(read_before.begin(), read_before.end());
    times_.prompt_tokens += std::ssize(prompt.tokens) - common;

    Slot slot{0,
              0,
              passes_.fork(prompt_sequence_, passes_.length(prompt_sequence_)),
              {tokenizer_, prompt, settings_}};
    while (!slot.text.has_ended()) {
        extend({&slot, 1});
        if (!slot.text.has_ended() && passes_.length(slot.sequence) == passes_.max_positions()) {
            slot.text.end_here();
        }
        on_token(slot.text);
    }
    passes_.close(slot.sequence);
    return slot.text.result();
}

std::optional<GeneratedText> generate_text(const spec::RunSpec& spec,
                                           Assembly& assembly,
                                           const data::TextTokenizer& tokenizer,
                                           const spec::Sample& sample,
                                           const TextPrompt& prompt,
                                           std::int64_t step,
                                           const std::function<bool()>& stops) {
    const TextSettings settings{
        .tokens = sample.tokens, .drawing = {.temperature = sample.temperature}, .ends = {}, .step = step};
    GeneratedText made;
    const auto keep = [&](std::int64_t, std::int64_t, GeneratedText text) { made = std::move(text); };
    TextGenerator generator{spec, assembly, tokenizer, settings};
    return generator.generate({&prompt, 1}, 1, keep, stops) ? std::optional{made} : std::nullopt;
}

}  // namespace ziggurat::train
