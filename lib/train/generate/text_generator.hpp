/// Generation of texts from a model in an assembly.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/tokenizer/text_tokenizer.hpp"
#include "spec/run_spec.hpp"
#include "train/generate/cached_sequences.hpp"
#include "train/generate/generated_text.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {

/// Tokens of passes, and the time that they took.
struct TimedTokens {
    std::int64_t tokens = 0;
    double seconds = 0;
};

/// Numbers of tokens that were read and generated.
struct GenerationTimes {
    std::int64_t prompt_tokens = 0;  ///< of all prompts, without those that are cut at their beginning
    TimedTokens prompts = {};        ///< read without logits: all but the last token of each prompt
    TimedTokens again = {};          ///< texts that were read again because they reached data.seq
    TimedTokens made = {};           ///< generated
};

/// Reads prompts into a KV cache and draws the tokens after them.
class TextGenerator {
  public:
    using OnText = std::function<void(std::int64_t prompt, std::int64_t answer, GeneratedText text)>;

    /// All arguments must outlive this. \pre the run has passes with a KV cache (spec::passes_of_texts)
    TextGenerator(const spec::RunSpec& spec,
                  Assembly& assembly,
                  const data::TextTokenizer& tokenizer,
                  const TextSettings& settings);

    /// Generates `answers` texts after each prompt, several of them at a time.
    ///
    /// The model reads up to data.seq tokens. A longer prompt is cut at its beginning. If a text reaches that
    /// length, the model reads its second half again, at positions from 0, and the text continues.
    ///
    /// \param on_text  gets each text when it ends, in any order
    /// \param stops    evaluated before each pass; it returns true on all ranks to cancel. Empty: never
    /// \return false if `stops` cancelled it
    /// Numerics:   Philox random numbers of run.seed, the step, the index of the answer and that of the token:
    ///             the same on all ranks. On the same ranks a text does not depend on the other texts.
    /// Collective: over all ranks
    bool generate(std::span<const TextPrompt> prompts,
                  std::int64_t answers,
                  const OnText& on_text,
                  const std::function<bool()>& stops = {});

    /// Generates the text after one prompt, which may begin with the prompt of the call before.
    ///
    /// The cache keeps their common beginning, except the tokens of the answer before. These are read like a
    /// prompt, so the text is that of generate(). A text that reaches data.seq tokens ends there.
    ///
    /// \pre the run has a sequence for the prompt and one for the text; the prompt has at most data.seq tokens
    /// \param on_token  called after each token
    GeneratedText answer(const TextPrompt& prompt, const std::function<void(const GrowingText&)>& on_token);

    const GenerationTimes& times() const { return times_; }

  private:
    struct Slot {
        std::int64_t prompt, answer;
        int sequence;
        GrowingText text;
    };
    /// Begins the text `answer` of `answers` texts after a prompt.
    Slot begin(std::span<const TextPrompt> prompts,
               std::int64_t prompt,
               std::int64_t answer,
               std::int64_t answers);
    /// Adds tokens to a sequence, without logits.
    void read(int sequence, std::span<const std::int32_t> tokens, TimedTokens& times);
    /// Reads the end of a text again, from position 0.
    void read_again(Slot& slot);
    /// Adds one token to each text.
    void extend(std::span<Slot> slots);

    const spec::RunSpec& spec_;
    const data::TextTokenizer& tokenizer_;
    const TextSettings& settings_;
    CachedSequences passes_;
    int prompt_sequence_ = -1;                 ///< a prompt that several texts continue, or that of answer()
    std::vector<std::int32_t> prompt_tokens_;  ///< that prompt_sequence_ holds; only of answer()
    std::vector<double> weights_;
    GenerationTimes times_;
};

/// Generates the text of a sample; nullopt if `stops` cancelled it. See TextGenerator.
///
/// \param prompt  of the sample, as tokens
/// \param step    key of the random numbers
/// \pre the run has passes with a KV cache (spec::cached_passes)
/// Collective: over all ranks
std::optional<GeneratedText> generate_text(const spec::RunSpec& spec,
                                           Assembly& assembly,
                                           const data::TextTokenizer& tokenizer,
                                           const spec::Sample& sample,
                                           const TextPrompt& prompt,
                                           std::int64_t step,
                                           const std::function<bool()>& stops = {});

}  // namespace ziggurat::train
