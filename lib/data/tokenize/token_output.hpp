/// Token files that grow document by document and are renamed when they are complete.
#pragma once

#include <xxhash.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_handle.hpp"
#include "base/stop_check.hpp"
#include "data/file_sequence.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// A format of token files, and the storage type of its tokens.
struct TokenLayout {
    spec::TokenFormat format = spec::TokenFormat::llmc;  ///< llmc or megatron
    TokenType type = TokenType::uint16;
};

/// Returns 16-bit tokens for vocabularies of up to 65,536, else 32-bit tokens.
///
/// 32-bit tokens are unsigned for llmc and signed for megatron.
TokenLayout layout_for(spec::TokenFormat format, std::int64_t vocab_size) noexcept;

/// Appends ids in the format of a file. \pre they fit the type
void pack(std::span<const std::int32_t> ids, TokenType type, std::string& bytes);

/// Amount of text that the vocabulary lacks.
struct UnknownText {
    std::int64_t runs = 0;    ///< ranges of adjacent unknown tokens in a document
    std::int64_t tokens = 0;  ///< unknown tokens in all ranges

    UnknownText& operator+=(const UnknownText& more) {
        runs += more.runs;
        tokens += more.tokens;
        return *this;
    }
    bool operator==(const UnknownText&) const = default;
};

/// Amount of written output.
struct WrittenTokens {
    std::int64_t documents = 0;
    std::int64_t tokens = 0;
    UnknownText unknown = {};

    bool operator==(const WrittenTokens&) const = default;
};

/// Returns the files of a name: NAME.bin, for megatron also NAME.idx.
std::vector<std::string> token_paths(const std::string& name, spec::TokenFormat format);

/// Hash of the tokens and lengths of an output, in parts.
class OutputHash {
  public:
    OutputHash();

    void add_tokens(std::string_view packed);
    void add_lengths(std::string_view lengths);
    std::uint64_t value() const;

  private:
    using State = std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)>;
    State tokens_, lengths_;
};

/// Returns the hash of output that was written; empty if one of its files does not exist.
///
/// Errors: Error{deck} if a file has less; Stopped
std::optional<OutputHash> hash_of_written(const std::string& name,
                                          TokenLayout layout,
                                          const WrittenTokens& written,
                                          const StopCheck& stop = {});

/// Rejects output that is not as it was written.
///
/// \param recorded  hash in the journal; 0: not recorded, then the hash is accepted
/// Errors: Error{deck}
void expect_written(const OutputHash& hash, std::uint64_t recorded, const std::string& name);

/// Owns NAME.bin.tmp, for megatron also NAME.lengths.tmp with the number of tokens of each document.
class TokenOutput {
  public:
    /// \param written   amount of existing output that is kept; empty: start from scratch
    /// \param recorded  its hash(); 0: not recorded
    /// Errors: Error{deck} if the files have less, or other bytes; Error{resource}; Stopped
    TokenOutput(std::string name,
                TokenLayout layout,
                WrittenTokens written,
                std::uint64_t recorded = 0,
                const StopCheck& stop = {});

    /// Appends whole documents.
    ///
    /// \param packed   their tokens
    /// \param lengths  number of tokens of each
    /// \param unknown  total of all documents
    /// Errors: Error{deck} if the format cannot count the tokens; Error{resource}
    void append(std::string_view packed, std::span<const std::int32_t> lengths, UnknownText unknown = {});

    /// Returns when all appended data are on disk.
    ///
    /// Errors: Error{resource}
    void flush();

    const WrittenTokens& written() const noexcept { return written_; }
    /// Returns the hash of all tokens and lengths; 0 if that of kept output is not recorded.
    std::uint64_t hash() const { return has_hash_ ? hash_.value() : 0; }

  private:
    std::string name_;
    TokenLayout layout_;
    WrittenTokens written_;
    FileHandle tokens_, lengths_;
    OutputHash hash_;
    bool has_hash_;
};

/// Writes the headers of the files that a TokenOutput has flushed, and renames them.
///
/// Steps that an interrupted call has already done are skipped.
///
/// Errors: Error{resource}
void complete_token_files(const std::string& name, TokenLayout layout, WrittenTokens written);

}  // namespace ziggurat::data
