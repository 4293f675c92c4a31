/// Configuration files of transformers next to a tokenizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/tokenizer/added_tokens.hpp"

namespace ziggurat::data {

/// Settings from tokenizer_config.json, special_tokens_map.json and added_tokens.json.
struct TokenizerConfig {
    bool is_present = false;  ///< one of the files exists
    std::string path;         ///< of tokenizer_config.json, for messages
    /// Texts of bos_token, eos_token and unk_token; empty: not defined.
    std::string begin, end, unknown;
    std::vector<std::string> special;  ///< texts of all special tokens in the files
    /// Added tokens with their own ids, by id: from added_tokens_decoder, else from added_tokens.json.
    std::vector<AddedToken> added;
    std::string tokenizer_class;     ///< empty: not defined
    std::optional<bool> adds_begin;  ///< add_bos_token
    bool is_of_version_5 = false;    ///< saved by transformers 5, which adds the key `backend`
    bool is_legacy = true;           ///< each part of a text between added tokens gets the prefix of a text

    /// True for the classes of transformers that read add_bos_token from here. Its default there is true.
    ///
    /// In version 5, the post-processor of tokenizer.json decides if the key is missing.
    bool decides_on_begin() const;
    /// Returns true if such a class adds bos_token before a text.
    bool adds_begin_token() const { return adds_begin.value_or(true); }
};

/// Reads the files of a folder. Each of them may be missing.
///
/// Source: transformers 4.46.3, tokenization_utils_base.py (_from_pretrained)
/// Errors: Error{deck} that names an invalid file
TokenizerConfig read_tokenizer_config(const std::string& folder);

/// Returns a hash of the bytes of these files, which TextTokenizer::hash() does not cover.
///
/// \param tokenizer  path of a file or folder; empty: a tokenizer without files
std::uint64_t configuration_hash(const std::string& tokenizer);

}  // namespace ziggurat::data
