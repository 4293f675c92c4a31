#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "data/mapped_file.hpp"
#include "data/tokenizer/added_tokens.hpp"
#include "data/tokenizer/sentencepiece_model_impl.hpp"
#include "data/tokenizer/text_tokenizer.hpp"
#include "data/tokenizer/tokenizer_config.hpp"
#include "data/tokenizer/tokenizer_json_impl.hpp"
#include "data/unicode/characters.hpp"

#ifdef ZIGGURAT_SENTENCEPIECE
#include <sentencepiece_processor.h>
#endif

namespace ziggurat::data {

#ifdef ZIGGURAT_SENTENCEPIECE

namespace {

class SentencePieceTokenizer final : public TextTokenizer {
  public:
    SentencePieceTokenizer(const std::string& path, const TokenizerConfig& config, std::string note)
        : path_{path}, is_legacy_{config.is_legacy}, note_{std::move(note)} {
        const MappedFile file{path, "tokenizer"};
        const std::string_view bytes{reinterpret_cast<const char*>(file.content().data()),
                                     file.content().size()};
        expect_tokenizer(path, bytes);
        expect_success(processor_.LoadFromSerializedProto(bytes), path);
        hash_ = XXH3_64bits(bytes.data(), bytes.size());
        const auto added = added_tokens_of(config, processor_);
        vocab_size_ = processor_.GetPieceSize();
        for (const auto& token : added) {
            added_ids_.insert(token.id);
            vocab_size_ = std::max(vocab_size_, std::int64_t{token.id} + 1);
            if (token.id >= processor_.GetPieceSize()) {
                text_of_added_.emplace(token.id, token.content);
                hash_ = XXH3_64bits_withSeed(token.content.data(), token.content.size(),
                                             hash_ + static_cast<std::uint64_t>(token.id));
            }
        }
        if (!is_legacy_ && !added.empty()) {
            expect_success(inner_.LoadFromSerializedProto(without_prefix(bytes)), path);
        }
        end_ = id_of(config.end, added, processor_.eos_id());
        begin_ = id_of(config.begin, added, processor_.bos_id());
        for (const auto& token : added) {
            if (std::ranges::find(config.special, token.content) == config.special.end()) {
                plain_added_.insert(token.id);
            }
        }
        adds_begin_ = config.decides_on_begin() && config.adds_begin_token() && begin_;
        finder_ = AddedTokenFinder{added};
    }

    /// Appends the prefix of a text that begins with added token `token`; special tokens get no prefix.
    ///
    /// Source: transformers 4.46.3, LlamaTokenizer.tokenize with legacy=False
    void begin_with(std::int32_t token, std::vector<std::int32_t>& ids) const {
        if (!is_legacy_ && plain_added_.contains(token)) {
            ids.push_back(processor_.PieceToId("\u2581"));
        }
    }

    std::unique_ptr<TextEncoder> make_encoder() const override;
    void decode(std::span<const std::int32_t> ids, std::string& bytes) const override;

    std::int64_t bytes_of(std::int32_t id) const override {
        if (id >= processor_.GetPieceSize()) {
            const auto found = text_of_added_.find(id);
            return found == text_of_added_.end() || id == end_ || id == begin_ ? 0
                                                                               : std::ssize(found->second);
        }
        if (processor_.IsControl(id) || processor_.IsUnknown(id) || processor_.IsUnused(id)) {
            return 0;
        }
        if (processor_.IsByte(id)) {
            return 1;
        }
        const std::string_view piece = processor_.IdToPiece(id);
        auto bytes = std::ssize(piece);
        for (auto at = piece.find(space_mark); at != std::string_view::npos;
             at = piece.find(space_mark, at + space_mark.size())) {
            bytes -= std::ssize(space_mark) - 1;
        }
        return bytes;
    }

    std::int64_t vocab_size() const noexcept override { return vocab_size_; }
    std::optional<std::int32_t> document_token() const noexcept override { return end_; }
    std::optional<std::int32_t> begin_token() const noexcept override { return begin_; }
    bool adds_begin_token() const noexcept override { return adds_begin_; }
    std::optional<std::int32_t> unknown_token() const noexcept override {
        return processor_.unk_id() >= 0 ? std::optional{processor_.unk_id()} : std::nullopt;
    }
    std::string note() const override { return note_; }
    std::uint64_t hash() const noexcept override { return hash_; }

    const AddedTokenFinder& added() const noexcept { return finder_; }

    /// \param begins_text  no added token is before it
    void encode_part(std::string_view text, bool begins_text, std::vector<int>& ids) const {
        expect_success(model_for(begins_text).Encode(text, &ids), path_);
    }

    /// \param offset  of `text`, added to the offset of each token
    void encode_part_with_begins(std::string_view text,
                                 std::uint32_t offset,
                                 std::vector<int>& ids,
                                 std::vector<std::uint32_t>& begins) const {
        encode_part(text, offset == 0, ids);
        const auto pieces = model_for(offset == 0).EncodeAsImmutableProto(text).pieces();
        ZG_ENSURES(pieces.size() == ids.size());
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            ZG_ENSURES(std::cmp_equal(pieces[i].id(), ids[i]));
            begins.push_back(offset + pieces[i].begin());
        }
    }

    bool is_added(std::int32_t id) const override { return added_ids_.contains(id); }

  private:
    static std::optional<std::int32_t> id_of(const std::string& named,
                                             const std::vector<AddedToken>& added,
                                             int of_model) {
        const auto found = std::ranges::find(added, named, &AddedToken::content);
        return !named.empty() && found != added.end() ? std::optional{found->id}
               : of_model >= 0                        ? std::optional{of_model}
                                                      : std::nullopt;
    }
    const sentencepiece::SentencePieceProcessor& model_for(bool begins_text) const {
        return is_legacy_ || begins_text ? processor_ : inner_;
    }

    std::string path_;
    bool is_legacy_;
    std::string note_;
    sentencepiece::SentencePieceProcessor processor_;
    sentencepiece::SentencePieceProcessor inner_;  ///< without the prefix; loaded when parts of texts need it
    std::unordered_map<std::int32_t, std::string> text_of_added_;  ///< of added tokens that are not pieces
    std::unordered_set<std::int32_t> added_ids_;
    std::unordered_set<std::int32_t> plain_added_;  ///< added tokens that are not special
    std::int64_t vocab_size_ = 0;
    std::optional<std::int32_t> end_, begin_;
    bool adds_begin_ = false;
    AddedTokenFinder finder_{{}};
    std::uint64_t hash_ = 0;
};

void SentencePieceTokenizer::decode(std::span<const std::int32_t> ids, std::string& bytes) const {
    std::string text;
    std::vector<int> part;
    bool begins_text = true;
    const auto write_part = [&] {
        if (!part.empty()) {
            std::string decoded;
            expect_success(model_for(begins_text).Decode(part, &decoded), path_);
            text += decoded;
            part.clear();
        }
    };
    for (const auto id : ids) {
        const auto added = text_of_added_.find(id);
        if (added != text_of_added_.end()) {
            write_part();
            text += added->second;
            begins_text = false;
        } else if (id >= 0 && id < processor_.GetPieceSize()) {
            part.push_back(id);
        } else if (id < 0 || id >= vocab_size()) {
            throw Error{ErrorKind::deck, fmt::format("token {} is not in '{}' (which has {}). Decode it with "
                                                     "the tokenizer that encoded it.",
                                                     id, printable(path_), vocab_size())};
        }
    }
    write_part();
    bytes += text;
}

class SentencePieceEncoder final : public TextEncoder {
  public:
    explicit SentencePieceEncoder(const SentencePieceTokenizer& tokenizer) : tokenizer_{tokenizer} {}

    void encode(std::string_view text, std::vector<std::int32_t>& ids) override {
        encode(text, ids, nullptr);
    }

    void encode_with_begins(std::string_view text,
                            std::vector<std::int32_t>& ids,
                            std::vector<std::uint32_t>& begins) override {
        expect_offsets_fit(text);
        const auto before = begins.size();
        try {
            encode(text, ids, &begins);
        } catch (...) {
            begins.resize(before);
            throw;
        }
    }

  private:
    void encode(std::string_view text, std::vector<std::int32_t>& ids, std::vector<std::uint32_t>* begins) {
        expect_utf8(text);
        const auto before = ids.size();
        segments_.clear();
        tokenizer_.added().cut(text, segments_);
        try {
            if (!segments_.empty()) {
                tokenizer_.begin_with(segments_.front().token, ids);
            }
            if (begins != nullptr) {
                begins->resize(begins->size() + ids.size() - before, 0U);
            }
            for (const auto& segment : segments_) {
                encode_segment(segment, static_cast<std::size_t>(segment.text.data() - text.data()), ids,
                               begins);
            }
        } catch (...) {
            ids.resize(before);
            throw;
        }
    }

    void encode_segment(const TextSegment& segment,
                        std::size_t offset,
                        std::vector<std::int32_t>& ids,
                        std::vector<std::uint32_t>* begins) {
        if (segment.token != TextSegment::no_token) {
            ids.push_back(segment.token);
            if (begins != nullptr) {
                begins->push_back(static_cast<std::uint32_t>(offset));
            }
            return;
        }
        if (begins != nullptr) {
            tokenizer_.encode_part_with_begins(segment.text, static_cast<std::uint32_t>(offset), found_,
                                               *begins);
        } else {
            tokenizer_.encode_part(segment.text, offset == 0, found_);
        }
        ids.insert(ids.end(), found_.begin(), found_.end());
    }

    const SentencePieceTokenizer& tokenizer_;
    std::vector<TextSegment> segments_;
    std::vector<int> found_;
};

std::unique_ptr<TextEncoder> SentencePieceTokenizer::make_encoder() const {
    return std::make_unique<SentencePieceEncoder>(*this);
}

}  // namespace

std::unique_ptr<const TextTokenizer> open_sentencepiece_tokenizer(const std::string& path,
                                                                  const std::string& refused) {
    namespace fs = std::filesystem;
    std::error_code problem;
    const fs::path file =
        fs::is_directory(path, problem) ? fs::path{path} / "tokenizer.model" : fs::path{path};
    // Otherwise, files next to it belong to another model.
    const bool is_of_folder = file.filename() == "tokenizer.model";
    const auto note =
        refused.empty() ? "" : fmt::format("'{}' is the tokenizer: {}", printable(file.string()), refused);
    return std::make_unique<SentencePieceTokenizer>(
        file.string(), is_of_folder ? read_tokenizer_config(file.parent_path().string()) : TokenizerConfig{},
        note);
}

#else

std::unique_ptr<const TextTokenizer> open_sentencepiece_tokenizer(const std::string& path,
                                                                  const std::string& /*refused*/) {
    throw Error{
        ErrorKind::deck,
        fmt::format("cannot read '{}' (this ziggurat was built without SentencePiece). Install the library "
                    "(Debian package libsentencepiece-dev) and build it again.",
                    printable(path))};
}

#endif

}  // namespace ziggurat::data
