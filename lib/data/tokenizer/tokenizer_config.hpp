/// Files of transformers that lie beside a tokenizer and change what it does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/tokenizer/added_tokens.hpp"

namespace ziggurat::data {

/// What tokenizer_config.json, special_tokens_map.json and added_tokens.json say.
struct TokenizerConfig {
    bool is_present = false;  ///< one of the files exists
    std::string path;         ///< of tokenizer_config.json, for messages
    /// Texts of bos_token, eos_token and unk_token; empty: not named.
    std::string begin, end, unknown;
    std::vector<std::string> special;  ///< texts of all special tokens that are named
    /// With ids of their own, by id: added_tokens_decoder, else added_tokens.json.
    std::vector<AddedToken> added;
    std::string tokenizer_class;     ///< empty: not named
    std::optional<bool> adds_begin;  ///< add_bos_token
    bool is_legacy = true;           ///< each part of a text between added tokens gets the prefix of a text

    /// True for the classes of transformers that take add_bos_token from here, and true where it is missing.
    bool decides_on_begin() const;
    /// Whether a text begins with bos_token, by such a class.
    bool adds_begin_token() const { return adds_begin.value_or(true); }
};

/// Reads the files of a folder, each of which may be missing.
///
/// Source: transformers 4.46.3, tokenization_utils_base.py (_from_pretrained)
/// Errors: Error{deck} that names the file when one is broken
TokenizerConfig read_tokenizer_config(const std::string& folder);

}  // namespace ziggurat::data
