#include <fmt/format.h>
#include <xxhash.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/printable.hpp"
#include "data/mapped_file.hpp"
#include "data/tokenizer/characters.hpp"
#include "data/tokenizer/text_tokenizer.hpp"
#include "data/tokenizer/tokenizer_json_impl.hpp"

#ifdef ZIGGURAT_SENTENCEPIECE
#include <sentencepiece_processor.h>
#endif

namespace ziggurat::data {

#ifdef ZIGGURAT_SENTENCEPIECE

namespace {

/// How the library writes a space inside of pieces (U+2581), and its bytes.
constexpr std::string_view space_mark = "\xE2\x96\x81";

void expect_success(const sentencepiece::util::Status& status, const std::string& path) {
    if (!status.ok()) {
        throw Error{ErrorKind::deck, fmt::format("SentencePiece refuses '{}' ({}). Name a file as "
                                                 "SentencePiece's trainer writes them.",
                                                 printable(path), printable(status.error_message()))};
    }
}

class SentencePieceTokenizer final : public TextTokenizer {
  public:
    explicit SentencePieceTokenizer(const std::string& path) : path_{path} {
        const MappedFile file{path, "tokenizer"};
        const std::string_view bytes{reinterpret_cast<const char*>(file.content().data()),
                                     file.content().size()};
        expect_tokenizer(path, bytes);
        expect_success(processor_.LoadFromSerializedProto(bytes), path);
        hash_ = XXH3_64bits(bytes.data(), bytes.size());
    }

    std::unique_ptr<TextEncoder> make_encoder() const override;

    void decode(std::span<const std::int32_t> ids, std::string& bytes) const override {
        for (const auto id : ids) {
            if (id < 0 || id >= vocab_size()) {
                throw Error{
                    ErrorKind::deck,
                    fmt::format("token {} is none of '{}' (it has {}). Decode it by the tokenizer that it "
                                "was encoded with.",
                                id, printable(path_), vocab_size())};
            }
        }
        std::string text;
        expect_success(processor_.Decode(std::vector<int>{ids.begin(), ids.end()}, &text), path_);
        bytes += text;
    }

    std::int64_t bytes_of(std::int32_t id) const override {
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

    std::int64_t vocab_size() const noexcept override { return processor_.GetPieceSize(); }
    std::optional<std::int32_t> document_token() const noexcept override {
        return processor_.eos_id() >= 0 ? std::optional{processor_.eos_id()} : std::nullopt;
    }
    std::uint64_t hash() const noexcept override { return hash_; }

    void encode_text(std::string_view text, std::vector<int>& ids) const {
        expect_success(processor_.Encode(text, &ids), path_);
    }
    const std::string& path() const noexcept { return path_; }

  private:
    std::string path_;
    sentencepiece::SentencePieceProcessor processor_;
    std::uint64_t hash_ = 0;
};

class SentencePieceEncoder final : public TextEncoder {
  public:
    explicit SentencePieceEncoder(const SentencePieceTokenizer& tokenizer) : tokenizer_{tokenizer} {}

    void encode(std::string_view text, std::vector<std::int32_t>& ids) override {
        expect_utf8(text);
        tokenizer_.encode_text(text, found_);
        ids.insert(ids.end(), found_.begin(), found_.end());
    }

  private:
    const SentencePieceTokenizer& tokenizer_;
    std::vector<int> found_;
};

std::unique_ptr<TextEncoder> SentencePieceTokenizer::make_encoder() const {
    return std::make_unique<SentencePieceEncoder>(*this);
}

}  // namespace

std::unique_ptr<const TextTokenizer> open_sentencepiece_tokenizer(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code problem;
    return std::make_unique<SentencePieceTokenizer>(
        fs::is_directory(path, problem) ? (fs::path{path} / "tokenizer.model").string() : path);
}

#else

std::unique_ptr<const TextTokenizer> open_sentencepiece_tokenizer(const std::string& path) {
    throw Error{
        ErrorKind::deck,
        fmt::format("cannot read '{}' (this ziggurat was built without SentencePiece). Install the library "
                    "(Debian package libsentencepiece-dev) and build it again.",
                    printable(path))};
}

#endif

}  // namespace ziggurat::data
