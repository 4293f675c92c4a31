/// Indexed token files of Megatron-LM.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "data/file_source.hpp"

namespace ziggurat::data {

inline constexpr std::int64_t megatron_header_bytes = 34;
inline constexpr std::string_view megatron_magic{"MMIDIDX\0\0", 9};
inline constexpr std::uint64_t megatron_version = 1;

/// Returns true if a file begins like an index and has a complete header.
bool is_megatron_index(const MappedFile& file);

/// Returns the token type for a code in an index; empty if the code is not an integer type.
std::optional<TokenType> megatron_type(int code);

/// PREFIX.bin with the tokens and PREFIX.idx with sequences and documents.
///
/// The path is the prefix, with or without one of the extensions.
///
/// Source: Megatron-LM, core/datasets/indexed_dataset.py. The index's arrays begin at byte 34 and are not
/// aligned.
class MegatronSource final : public FileSource {
  public:
    MegatronSource(const std::string& path, const std::string& key);

    bool has_document_index() const override { return true; }
    void mark_document_starts(std::int64_t begin, std::span<std::uint8_t> starts) const override;
    std::vector<SourceFile> files() const override;

    std::int64_t num_documents() const noexcept { return num_document_entries_ - 1; }
    /// Returns the first token of a document; num_tokens() for document num_documents().
    std::int64_t document_begin(std::int64_t document) const;

  private:
    void check_index(const std::string& key);

    MappedFile index_;
    std::int64_t num_sequences_ = 0;
    std::int64_t num_document_entries_ = 0;
    TokenType type_ = TokenType::uint16;
};

}  // namespace ziggurat::data
