/// Token files that grow document by document, and take their names when all are written.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_handle.hpp"
#include "data/file_sequence.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// A format of token files, and how a token is stored in it.
struct TokenLayout {
    spec::TokenFormat format = spec::TokenFormat::llmc;  ///< llmc or megatron
    TokenType type = TokenType::uint16;
};

/// With 16 bits for up to 65,536 tokens, else with 32: unsigned for llmc, signed for megatron.
TokenLayout layout_for(spec::TokenFormat format, std::int64_t vocab_size) noexcept;

/// Appends ids, which fit the type, as a file has them.
void pack(std::span<const std::int32_t> ids, TokenType type, std::string& bytes);

/// Text that the vocabulary lacks.
struct UnknownText {
    std::int64_t runs = 0;    ///< of neighbouring unknown tokens in a document
    std::int64_t tokens = 0;  ///< in them

    UnknownText& operator+=(const UnknownText& more) {
        runs += more.runs;
        tokens += more.tokens;
        return *this;
    }
    bool operator==(const UnknownText&) const = default;
};

/// How much is written.
struct WrittenTokens {
    std::int64_t documents = 0;
    std::int64_t tokens = 0;
    UnknownText unknown = {};

    bool operator==(const WrittenTokens&) const = default;
};

/// The files of a name: NAME.bin, for megatron also NAME.idx.
std::vector<std::string> token_paths(const std::string& name, spec::TokenFormat format);

/// Owns NAME.bin.tmp, for megatron also NAME.lengths.tmp, which has the number of tokens of each document.
class TokenOutput {
  public:
    /// \param written  what the files keep of what they have; nothing: they begin anew
    /// Errors: Error{deck} when they have less; Error{resource}
    TokenOutput(std::string name, TokenLayout layout, WrittenTokens written);

    /// Appends whole documents.
    ///
    /// \param packed   their tokens
    /// \param lengths  tokens of each
    /// \param unknown  in all of them
    /// Errors: Error{deck} when the format cannot count so many tokens; Error{resource}
    void append(std::string_view packed, std::span<const std::int32_t> lengths, UnknownText unknown = {});

    /// Returns when the disk has all that was appended.
    /// Errors: Error{resource}
    void flush();

    const WrittenTokens& written() const noexcept { return written_; }

  private:
    std::string name_;
    TokenLayout layout_;
    WrittenTokens written_;
    FileHandle tokens_, lengths_;
};

/// Writes the heads of the files that a TokenOutput has flushed, and gives them their names. What an
/// interrupted call has done already is not done again.
///
/// Errors: Error{resource}
void complete_token_files(const std::string& name, TokenLayout layout, WrittenTokens written);

}  // namespace ziggurat::data
