/// Keys and files of an exported model that concern its use: special tokens and generation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ziggurat::checkpoint::hf {

/// Returns the usage keys of config.json in `folder`; nullopt if the file does not exist.
///
/// The usage keys are those for special tokens and generation. The result is a JSON object.
std::optional<std::string> usage_keys(const std::string& folder);

/// Returns these keys for a model with an end-of-document token. -1: without such a token.
std::string usage_keys_of(std::int64_t document_token);

/// Adds null for each special token that the object `usage` does not name.
///
/// A key that is missing has the default of the model's class, which is an id of another vocabulary.
std::string with_all_special_tokens(const std::string& usage);

/// Returns the weight type in the config.json of `folder`, such as `bfloat16`; empty if not given.
std::string hf_type(const std::string& folder);

/// A token with its text.
struct TokenText {
    std::int64_t id = 0;
    std::string text;
};

/// Writes tokenizer_config.json in `folder`, unless it exists or the folder has no tokenizer.json.
///
/// Without it, transformers 5 builds the tokenizer of the model's class, which may split texts differently.
///
/// \param end    end-of-document token
/// \param begin  begin-of-text token
/// Source: transformers 5, tokenization_auto.py (from_pretrained)
void write_tokenizer_config(const std::string& folder,
                            const std::optional<TokenText>& end,
                            const std::optional<TokenText>& begin);

/// Changes that add_answer_ends() made.
struct AddedEnds {
    std::vector<TokenText> ends;   ///< new in generation_config.json; empty: it has all of them
    std::string eos_token;         ///< new eos_token of the tokenizer; empty: unchanged
    std::string eos_token_before;  ///< empty: it had none
};

/// Adds the tokens that end an answer to eos_token_id in generation_config.json.
///
/// If the folder has no such file, it gets one with the generation settings of `usage`. If a token is new,
/// the first one becomes the tokenizer's eos_token.
///
/// \param usage            as for config_text()
/// \param ends             most frequent one first
/// \param keeps_eos_token  the eos_token of the tokenizer stays, for example because a template prints it
AddedEnds add_answer_ends(const std::string& folder,
                          const std::string& usage,
                          const std::vector<TokenText>& ends,
                          bool keeps_eos_token);

}  // namespace ziggurat::checkpoint::hf
