/// Byte-pair encoding, of bytes or of characters.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/tokenizer/added_tokens.hpp"
#include "data/tokenizer/merges.hpp"
#include "data/tokenizer/pre_tokenizer.hpp"
#include "data/tokenizer/text_normalizer.hpp"
#include "data/tokenizer/text_tokenizer.hpp"

namespace ziggurat::data {

/// Characters that decoding removes from the beginning of a text.
struct StrippedBeginning {
    char content = ' ';
    std::int64_t max = 0;         ///< maximum number
    bool of_first_token = false;  ///< only from the first token
};

/// Components of a tokenizer of this kind.
struct BpeParts {
    std::vector<std::string> bytes_of_token;  ///< by id, as decoded; for an added token its text
    /// Bytes of each id in a piece, before the decoder changes them; empty if tokens are bytes.
    std::vector<std::int32_t> piece_bytes_of_token;
    std::array<std::int32_t, 256> token_of_byte{};  ///< -1: no token, only if tokens are characters
    std::vector<std::int32_t> token_of_character;   ///< by code, -1: no token; empty: tokens are bytes
    bool falls_back_to_bytes = false;               ///< for characters without a token
    std::optional<std::int32_t> unknown_token;      ///< for text without another token
    bool fuses_unknown = false;                     ///< one token for adjacent unknown characters
    MergeTable merges{0};
    /// Whole pieces that are a token independent of the merges, by their bytes; only with ignore_merges.
    std::unordered_map<std::string, std::int32_t> token_of_piece;
    TextNormalizer normalizer;
    PreTokenizer pre_tokenizer;
    std::string separator;  ///< between decoded tokens
    StrippedBeginning stripped;
    std::vector<AddedToken> added_tokens;
    std::optional<std::int32_t> document_token;
    std::optional<std::int32_t> begin_token;
    bool adds_begin_token = false;
    std::uint64_t hash = 0;
    std::string path;  ///< for messages
};

std::unique_ptr<const TextTokenizer> make_bpe_tokenizer(BpeParts parts);

}  // namespace ziggurat::data
