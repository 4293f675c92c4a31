/// Token files of llm.c.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/file_source.hpp"

namespace ziggurat::data {

inline constexpr std::int64_t llmc_header_bytes = 1024;

/// The first two numbers of a token file.
struct LlmcKind {
    std::int32_t magic;
    std::int32_t version;
};
inline constexpr LlmcKind llmc_of_16_bits{20240520, 1};  ///< the GPT-2 format
inline constexpr LlmcKind llmc_of_32_bits{20240801, 7};  ///< the Llama 3 format

/// Returns the token type for a file's first number; empty if it is not a token file of llm.c.
std::optional<TokenType> llmc_type(std::int32_t magic);

/// Returns the kind of an llm.c file without training tokens, by its first number.
///
/// nullptr if it is not one of these.
const char* other_llmc_kind(std::int32_t magic);

/// Describes a file without tokens of llm.c, as the reason in a message.
///
/// The result is `a model file of llm.c`, or the format that the file looks like.
std::string kind_of_llmc(const MappedFile& file);

/// The .bin files that match a path or pattern, concatenated.
///
/// Source: llm.c, dev/data/data_common.py: 256 int32 of header (magic, version, number of tokens), then the
/// tokens; magic 20240520 and version 1: uint16 (GPT-2), magic 20240801 and version 7: uint32 (Llama 3).
class LlmcSource final : public FileSource {
  public:
    LlmcSource(const std::string& pattern, const std::string& key);
};

}  // namespace ziggurat::data
