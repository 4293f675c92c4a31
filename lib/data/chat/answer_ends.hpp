/// Tokens that end an answer: one rule for generated answers and for exported models.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/chat/chat_template.hpp"
#include "data/chat/template_engine.hpp"
#include "data/tokenizer/text_tokenizer.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// Returns the eos_token_id of generation_config.json next to a tokenizer, in its order.
///
/// If that file does not exist, it is the eos_token_id of config.json.
///
/// \param tokenizer  a file of the tokenizer, or its folder; empty: a tokenizer without files
/// Source: transformers, GenerationConfig.from_model_config
/// Errors: Error{deck} if an id of generation_config.json is not below `vocab`
std::vector<std::int32_t> configured_ends(const std::string& tokenizer, std::int64_t vocab);

/// Returns the token that ends a turn of the assistant in a rendered template, in a list.
///
/// The list is empty if the turn ends with other text.
///
/// Errors: those of TemplateProcess
std::vector<std::int32_t> turn_ends_by(const ChatTemplate& chat,
                                       const TextTokenizer& tokenizer,
                                       const TemplateEngine& engine);

/// Returns the tokens that end the turns of the assistant in the training data.
///
/// The most frequent one comes first. The end of a turn is its last counted token that is not white space, if
/// that is an added token or the document token. The sample files that still exist are read; of pairs, only
/// the chosen answers. Files of another tokenizer are left out.
///
/// \param run_folder  may have samples of records whose folder cannot be written
std::vector<std::int32_t> trained_turn_ends(const spec::Data& data,
                                            const TextTokenizer& tokenizer,
                                            const std::string& run_folder = {});

}  // namespace ziggurat::data
