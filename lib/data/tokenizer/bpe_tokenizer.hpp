/// Byte-level byte-pair encoding.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/tokenizer/added_tokens.hpp"
#include "data/tokenizer/composed_form.hpp"
#include "data/tokenizer/merges.hpp"
#include "data/tokenizer/pre_tokenizer.hpp"
#include "data/tokenizer/text_tokenizer.hpp"

namespace ziggurat::data {

/// What a tokenizer of this kind is made of.
struct BpeParts {
    std::vector<std::string> bytes_of_token;  ///< by id; of an added token its text
    std::array<std::int32_t, 256> token_of_byte{};
    MergeTable merges{0};
    /// Whole pieces that are a token whatever the merges say, by their bytes; only with ignore_merges.
    std::unordered_map<std::string, std::int32_t> token_of_piece;
    std::unique_ptr<const ComposedForm> normalizer;  ///< null: text stays as it is
    PreTokenizer pre_tokenizer;
    std::vector<AddedToken> added_tokens;
    std::optional<std::int32_t> document_token;
    std::uint64_t hash = 0;
    std::string path;  ///< for messages
};

std::unique_ptr<const TextTokenizer> make_bpe_tokenizer(BpeParts parts);

}  // namespace ziggurat::data
