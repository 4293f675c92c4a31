/// Generation of text from a model in an assembly.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/tokenizer/text_tokenizer.hpp"
#include "spec/run_spec.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {

/// Sampling and stop parameters of a generated text, besides its number of tokens.
struct TextLimits {
    std::int64_t top_k = 0;                     ///< see Drawing
    double top_p = 1;                           ///< see Drawing
    std::vector<std::string> ends = {};         ///< stop strings: the text ends before the first of them
    std::vector<std::int32_t> end_tokens = {};  ///< the text ends before the first of these tokens
};

/// Tokens that were read in passes without logits.
struct ReadTokens {
    std::int64_t tokens = 0;
    double seconds = 0;
};

/// A generated text, and how long its tokens took.
struct GeneratedText {
    std::string text;
    std::int64_t prompt_tokens = 0;  ///< of the prompt, without those that are cut at its beginning
    std::int64_t tokens = 0;         ///< generated
    ReadTokens prompt = {};          ///< the prompt, except its last token
    ReadTokens again = {};           ///< text that was read again because it reached data.seq
    double seconds = 0;              ///< of the generated tokens
};

/// Generates the text that follows `sample.prompt`, token by token; nullopt if `stops` cancelled it.
///
/// The model reads up to data.seq tokens. A longer prompt is cut at its beginning. If the text reaches that
/// length, the model reads its second half again, at positions from 0, and the text continues. An empty
/// prompt is replaced by the document token, or by a newline if the tokenizer has no document token.
///
/// \param step   key of the random numbers, besides run.seed and the token's index
/// \param stops  evaluated before each pass; it returns true on all ranks to cancel
/// \pre the run has passes with a KV cache (spec::cached_passes)
/// Numerics:   Philox random numbers: the same on all ranks
/// Collective: over all ranks
std::optional<GeneratedText> generate_text(const spec::RunSpec& spec,
                                           Assembly& assembly,
                                           const data::TextTokenizer& tokenizer,
                                           const spec::Sample& sample,
                                           std::int64_t step,
                                           const TextLimits& limits = {},
                                           const std::function<bool()>& stops = {});

}  // namespace ziggurat::train
