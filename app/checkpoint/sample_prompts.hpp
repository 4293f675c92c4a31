/// Prompts of `sample`: of the command line, or of a file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/checkpoint/checkpoint_options.hpp"
#include "comm/context.hpp"
#include "data/chat/chat_prompt.hpp"
#include "data/chat/prompt_record.hpp"
#include "data/tokenizer/text_tokenizer.hpp"
#include "spec/run_spec.hpp"
#include "train/generate/generated_text.hpp"

namespace ziggurat::app {

/// Prompts as they were given, and as tokens, in the same order.
struct SamplePrompts {
    std::vector<data::PromptRecord> records;  ///< empty except on rank 0
    std::vector<train::TextPrompt> prompts;
};

/// Returns the renderer of conversations for a trained model.
///
/// Errors: those of data::find_chat_template() and data::ChatPrompts
std::unique_ptr<data::ChatPrompts> chat_prompts_of(const SampleOptions& options,
                                                   const spec::RunSpec& run,
                                                   const data::TextTokenizer& tokenizer);

/// Reads, renders and encodes the prompts, and prints notes about them. For rank 0.
///
/// Conversations have their special tokens from the template; other texts get those of run.data.add_bos.
///
/// Errors: Error{deck} that names the line of a prompt that cannot be used; Error{resource} without Python
SamplePrompts read_sample_prompts(const SampleOptions& options,
                                  const spec::RunSpec& run,
                                  const data::TextTokenizer& tokenizer);

/// Encodes the text of a rendered conversation.
///
/// Errors: Error{deck} if a token is outside of the model's vocabulary
train::TextPrompt encode_conversation(const std::string& text,
                                      const data::ChatPrompts& chat,
                                      const spec::RunSpec& run,
                                      const data::TextTokenizer& tokenizer);

/// Returns the prompts of rank 0 on all ranks: only there does Python have to exist.
///
/// Collective: over `world`
std::vector<train::TextPrompt> shared_prompts(const comm::Context& world,
                                              std::vector<train::TextPrompt> prompts);

}  // namespace ziggurat::app
