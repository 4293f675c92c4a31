/// Tokenizer and prompt of validate.sample.
#pragma once

#include <memory>

#include "comm/context.hpp"
#include "data/tokenizer/text_tokenizer.hpp"
#include "spec/run_spec.hpp"
#include "train/generate/generated_text.hpp"

namespace ziggurat::train {

/// Empty without samples.
struct SamplePrompt {
    std::unique_ptr<const data::TextTokenizer> tokenizer;
    TextPrompt prompt;
};

/// Opens the tokenizer of validate.sample and encodes its prompt.
///
/// Rank 0 renders the prompt of a chat: only there does Python have to exist.
///
/// Collective: over `world`
/// Errors:     the same on all ranks: those of data::open_tokenizer(), and for a chat those of
///             data::find_chat_template() and data::ChatPrompts
SamplePrompt open_sample_prompt(const spec::RunSpec& spec, const comm::Context& world);

}  // namespace ziggurat::train
