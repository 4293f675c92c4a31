/// Parts of a SentencePiece model: its errors, its prefix, and its added tokens.
#pragma once

#ifdef ZIGGURAT_SENTENCEPIECE

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "data/tokenizer/added_tokens.hpp"
#include "data/tokenizer/tokenizer_config.hpp"

namespace ziggurat::data {

/// The library's mark for a space inside of pieces (U+2581), in bytes.
inline constexpr std::string_view space_mark = "\xE2\x96\x81";

/// Errors: Error{deck} that names the file if `status` is a failure
inline void expect_success(const sentencepiece::util::Status& status, const std::string& path) {
    if (!status.ok()) {
        throw Error{ErrorKind::deck, fmt::format("SentencePiece rejects '{}' ({}). Name a file that "
                                                 "SentencePiece's trainer wrote.",
                                                 printable(path), printable(status.error_message()))};
    }
}

/// Returns the model with normalizer_spec.add_dummy_prefix = false appended.
///
/// The appended value overrides the model's own.
inline std::string without_prefix(std::string_view model) {
    return std::string{model} + std::string{"\x1a\x02\x18\x00", 4};
}

/// Returns the added tokens of the files next to a model, and its special tokens that are pieces.
inline std::vector<AddedToken> added_tokens_of(const TokenizerConfig& config,
                                               const sentencepiece::SentencePieceProcessor& processor) {
    std::vector<AddedToken> added = config.added;
    auto special = config.special;
    for (const auto& [named, id] :
         {std::pair{config.unknown, processor.unk_id()}, std::pair{config.begin, processor.bos_id()},
          std::pair{config.end, processor.eos_id()}}) {
        if (config.is_present && named.empty() && id >= 0) {
            special.push_back(processor.IdToPiece(id));
        }
    }
    for (const auto& text : special) {
        const auto id = processor.PieceToId(text);
        const bool is_known = std::ranges::find(added, text, &AddedToken::content) != added.end();
        if (!is_known && id >= 0 && processor.IdToPiece(id) == text) {
            added.push_back({.content = text, .id = id});
        }
    }
    return added;
}

}  // namespace ziggurat::data

#endif
