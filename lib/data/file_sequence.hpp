/// Token arrays in several files, read as one array.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/mapped_file.hpp"
#include "data/token_source.hpp"

namespace ziggurat::data {

/// Storage type of a token.
enum class TokenType { uint8, int8, int16, uint16, int32, uint32, int64 };

std::int64_t bytes_of(TokenType type) noexcept;
/// Returns the type's name, such as `uint16`.
const char* name_of(TokenType type) noexcept;

/// Contiguous tokens from `offset_bytes` of a file, with any alignment.
struct TokenFile {
    MappedFile file;
    std::int64_t offset_bytes = 0;
    std::int64_t num_tokens = 0;
    TokenType type = TokenType::uint8;
};

/// Owns the files and maps token positions to them.
class FileSequence {
  public:
    void append(TokenFile file);

    std::int64_t num_tokens() const noexcept { return ends_.empty() ? 0 : ends_.back(); }
    void read(std::int64_t begin, std::span<std::int32_t> out) const;
    std::string location_of(std::int64_t token) const;
    std::vector<SourceFile> files() const;

  private:
    std::size_t file_of(std::int64_t token) const;
    std::int64_t begin_of(std::size_t file) const { return file == 0 ? 0 : ends_[file - 1]; }

    std::vector<TokenFile> files_;
    std::vector<std::int64_t> ends_;  // by file: number of tokens up to its end
};

}  // namespace ziggurat::data
