#include <fmt/format.h>

#include <numeric>

#include "base/error.hpp"
#include "data/tokenizer/text_tokenizer.hpp"
#include "data/unicode/characters.hpp"

namespace ziggurat::data {
namespace {

constexpr std::int64_t num_bytes = 256;

class ByteEncoder final : public TextEncoder {
  public:
    void encode(std::string_view text, std::vector<std::int32_t>& ids) override {
        ids.reserve(ids.size() + text.size());
        for (const char c : text) {
            ids.push_back(static_cast<unsigned char>(c));
        }
    }

    void encode_with_begins(std::string_view text,
                            std::vector<std::int32_t>& ids,
                            std::vector<std::uint32_t>& begins) override {
        expect_offsets_fit(text);
        encode(text, ids);
        const auto first = begins.size();
        begins.resize(first + text.size());
        std::iota(begins.begin() + static_cast<std::ptrdiff_t>(first), begins.end(), 0U);
    }
};

class ByteTokenizer final : public TextTokenizer {
  public:
    std::unique_ptr<TextEncoder> make_encoder() const override { return std::make_unique<ByteEncoder>(); }

    void decode(std::span<const std::int32_t> ids, std::string& bytes) const override {
        for (const auto id : ids) {
            if (id < 0 || id >= num_bytes) {
                throw Error{ErrorKind::deck, fmt::format("token {} is not a byte (0 to 255). Decode it "
                                                         "with the tokenizer that encoded it.",
                                                         id)};
            }
            bytes += static_cast<char>(id);
        }
    }

    std::int64_t bytes_of(std::int32_t /*id*/) const override { return 1; }
    std::int64_t vocab_size() const noexcept override { return num_bytes; }
    std::optional<std::int32_t> document_token() const noexcept override { return std::nullopt; }
    std::uint64_t hash() const noexcept override { return 0; }
};

}  // namespace

std::unique_ptr<const TextTokenizer> make_byte_tokenizer() {
    return std::make_unique<ByteTokenizer>();
}

}  // namespace ziggurat::data
