#include "data/tokenizer/bpe_tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "base/text/text_width.hpp"
#include "data/tokenizer/piece_cache.hpp"
#include "data/unicode/characters.hpp"

namespace ziggurat::data {
namespace {

class BpeTokenizer final : public TextTokenizer {
  public:
    explicit BpeTokenizer(BpeParts parts)
        : parts_{std::move(parts)},
          as_it_stands_{those(parts_.added_tokens, false)},
          normalized_{those(with_normalized_contents(parts_), true)},
          is_added_(parts_.bytes_of_token.size()) {
        for (const auto& token : parts_.added_tokens) {
            is_added_[token.id] = true;
        }
    }

    std::unique_ptr<TextEncoder> make_encoder() const override;
    void decode(std::span<const std::int32_t> ids, std::string& bytes) const override;
    std::int64_t bytes_of(std::int32_t id) const override {
        return id == parts_.document_token || id == parts_.begin_token
                   ? 0
                   : std::ssize(parts_.bytes_of_token[id]);
    }
    std::int64_t vocab_size() const noexcept override { return std::ssize(parts_.bytes_of_token); }
    std::optional<std::int32_t> document_token() const noexcept override { return parts_.document_token; }
    std::optional<std::int32_t> begin_token() const noexcept override { return parts_.begin_token; }
    bool adds_begin_token() const noexcept override { return parts_.adds_begin_token; }
    std::optional<std::int32_t> unknown_token() const noexcept override { return parts_.unknown_token; }
    std::uint64_t hash() const noexcept override { return parts_.hash; }
    bool is_added(std::int32_t id) const override { return is_added_[id]; }

    const BpeParts& parts() const noexcept { return parts_; }
    const AddedTokenFinder& added_as_it_stands() const noexcept { return as_it_stands_; }
    const AddedTokenFinder& added_normalized() const noexcept { return normalized_; }

  private:
    static std::vector<AddedToken> with_normalized_contents(const BpeParts& parts) {
        auto tokens = parts.added_tokens;
        for (auto& token : tokens) {
            if (token.is_normalized) {
                std::string buffer;
                token.content = std::string{parts.normalizer.normalize(token.content, buffer).text};
            }
        }
        return tokens;
    }
    static std::vector<AddedToken> those(const std::vector<AddedToken>& tokens, bool is_normalized) {
        std::vector<AddedToken> chosen;
        std::ranges::copy_if(tokens, std::back_inserter(chosen),
                             [&](const AddedToken& token) { return token.is_normalized == is_normalized; });
        return chosen;
    }

    BpeParts parts_;
    AddedTokenFinder as_it_stands_;
    AddedTokenFinder normalized_;
    std::vector<bool> is_added_;  ///< by id
};

class BpeEncoder final : public TextEncoder, private PieceSink {
  public:
    explicit BpeEncoder(const BpeTokenizer& tokenizer) : tokenizer_{tokenizer} {}

    void encode(std::string_view text, std::vector<std::int32_t>& ids) override {
        expect_utf8(text);
        const auto before = ids.size();
        into_ = &ids;
        begins_ = nullptr;
        try {
            encode_segments(text);
        } catch (...) {
            ids.resize(before);
            throw;
        }
    }

    void encode_with_begins(std::string_view text,
                            std::vector<std::int32_t>& ids,
                            std::vector<std::uint32_t>& begins) override {
        expect_utf8(text);
        expect_offsets_fit(text);
        const auto before = ids.size();
        const auto begins_before = begins.size();
        into_ = &ids;
        begins_ = &begins;
        try {
            encode_segments(text);
        } catch (...) {
            ids.resize(before);
            begins.resize(begins_before);
            throw;
        }
    }

  private:
    void encode_segments(std::string_view text) {
        segments_.clear();
        tokenizer_.added_as_it_stands().cut(text, segments_);
        for (const auto& segment : segments_) {
            const auto origin = static_cast<std::uint32_t>(segment.text.data() - text.data());
            if (segment.token != TextSegment::no_token) {
                append_added(segment.token, origin);
                continue;
            }
            const auto normalized = normalize(segment.text, origin);
            const bool begins = segment.text.data() == text.data() && normalized.keeps_beginning;
            normalized_segments_.clear();
            tokenizer_.added_normalized().cut(normalized.text, normalized_segments_);
            for (const auto& smaller : normalized_segments_) {
                const auto at = smaller.text.data() - normalized.text.data();
                if (smaller.token != TextSegment::no_token) {
                    append_added(smaller.token, begins_ == nullptr ? 0 : origins_[at]);
                } else {
                    const auto* const origins = begins_ == nullptr ? nullptr : origins_.data() + at;
                    tokenizer_.parts().pre_tokenizer.cut({smaller.text, begins && at == 0, origins}, *this);
                }
            }
        }
    }

    void append_added(std::int32_t token, std::uint32_t begin) {
        into_->push_back(token);
        if (begins_ != nullptr) {
            begins_->push_back(begin);
        }
    }

    /// \param origin  offset of `text` in the whole text
    NormalizedText normalize(std::string_view text, std::uint32_t origin) {
        const auto& normalizer = tokenizer_.parts().normalizer;
        if (begins_ == nullptr) {
            return normalizer.normalize(text, normalized_);
        }
        origins_.resize(text.size() + 1);
        std::iota(origins_.begin(), origins_.end(), origin);
        return normalizer.normalize(text, normalized_, origins_);
    }

    void take(TextPiece taken) override {
        const auto before = into_->size();
        append_piece(taken.text);
        if (begins_ != nullptr) {
            append_begins(taken, std::span{*into_}.subspan(before));
        }
    }

    /// Appends the offsets of the tokens of a piece, whose bytes are those of the piece.
    void append_begins(TextPiece piece, std::span<const std::int32_t> ids) {
        const BpeParts& parts = tokenizer_.parts();
        std::size_t at = 0;
        for (const auto id : ids) {
            begins_->push_back(piece.origins[std::min(at, piece.text.size())]);
            at += parts.token_of_character.empty() ? parts.bytes_of_token[id].size()
                                                   : parts.piece_bytes_of_token[id];
        }
        if (at != piece.text.size()) {
            throw Error{
                ErrorKind::deck,
                fmt::format("the vocabulary lacks a part of the text '{}', so the tokens of this text "
                            "have no exact offsets. Remove the characters.",
                            for_display(piece.text))};
        }
    }

    void append_piece(std::string_view piece) {
        if (piece.size() > PieceCache::max_bytes) {
            append_merged(piece);
            return;
        }
        const auto key = PieceCache::key_of(piece);
        if (const auto known = cache_.find(key); !known.empty()) {
            into_->insert(into_->end(), known.begin(), known.end());
            return;
        }
        const auto before = into_->size();
        append_merged(piece);
        cache_.put(key, std::span{*into_}.subspan(before));
    }

    void append_merged(std::string_view piece) {
        const BpeParts& parts = tokenizer_.parts();
        if (!parts.token_of_piece.empty()) {
            lookup_ = piece;
            if (const auto whole = parts.token_of_piece.find(lookup_); whole != parts.token_of_piece.end()) {
                into_->push_back(whole->second);
                return;
            }
        }
        const auto before = into_->size();
        if (parts.token_of_character.empty()) {
            for (const char c : piece) {
                into_->push_back(parts.token_of_byte[static_cast<unsigned char>(c)]);
            }
        } else {
            append_characters(piece);
        }
        into_->resize(before + merge_tokens(parts.merges, std::span{*into_}.subspan(before)));
    }

    // Same as BPE::merge_word() of Hugging Face's tokenizers: an unknown token is written at the next known
    // character, even if byte tokens of other characters are written before it.
    void append_characters(std::string_view piece) {
        const BpeParts& parts = tokenizer_.parts();
        bool has_unknown = false;
        const auto write_unknown = [&] {
            if (has_unknown) {
                into_->push_back(*parts.unknown_token);
                has_unknown = false;
            }
        };
        for (std::size_t at = 0; at < piece.size();) {
            const auto character = character_at(piece, at);
            const auto bytes = piece.substr(at, character.bytes);
            at += character.bytes;
            if (const auto id = parts.token_of_character[character.code]; id >= 0) {
                write_unknown();
                into_->push_back(id);
            } else if (parts.falls_back_to_bytes && has_all_bytes(bytes)) {
                for (const char c : bytes) {
                    into_->push_back(parts.token_of_byte[static_cast<unsigned char>(c)]);
                }
            } else if (parts.unknown_token) {
                if (!parts.fuses_unknown) {
                    write_unknown();
                }
                has_unknown = true;
            }
        }
        write_unknown();
    }

    bool has_all_bytes(std::string_view bytes) const {
        return std::ranges::all_of(bytes, [&](char c) {
            return tokenizer_.parts().token_of_byte[static_cast<unsigned char>(c)] >= 0;
        });
    }

    const BpeTokenizer& tokenizer_;
    PieceCache cache_;
    std::vector<TextSegment> segments_, normalized_segments_;
    std::string normalized_, lookup_;
    std::vector<std::uint32_t> origins_;  ///< of the bytes of the normalized segment, and of its end
    std::vector<std::int32_t>* into_ = nullptr;
    std::vector<std::uint32_t>* begins_ = nullptr;  ///< nullptr: offsets are not requested
};

std::unique_ptr<TextEncoder> BpeTokenizer::make_encoder() const {
    return std::make_unique<BpeEncoder>(*this);
}

void BpeTokenizer::decode(std::span<const std::int32_t> ids, std::string& bytes) const {
    std::string text;
    bool is_first = true;
    std::size_t end_of_first = 0;
    for (const auto id : ids) {
        if (id < 0 || id >= vocab_size()) {
            throw Error{ErrorKind::deck, fmt::format("token {} is not in '{}' (which has {}). Decode it with "
                                                     "the tokenizer that encoded it.",
                                                     id, printable(parts_.path), vocab_size())};
        }
        if (!is_first) {
            text += parts_.separator;
        }
        text += parts_.bytes_of_token[id];
        end_of_first = is_first ? text.size() : end_of_first;
        is_first = false;
    }
    const auto& stripped = parts_.stripped;
    const auto within = stripped.of_first_token ? end_of_first : text.size();
    std::size_t begin = 0;
    while (begin < within && std::cmp_less(begin, stripped.max) && text[begin] == stripped.content) {
        ++begin;
    }
    bytes += std::string_view{text}.substr(begin);
}

}  // namespace

std::unique_ptr<const TextTokenizer> make_bpe_tokenizer(BpeParts parts) {
    return std::make_unique<BpeTokenizer>(std::move(parts));
}

}  // namespace ziggurat::data
