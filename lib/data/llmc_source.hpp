/// Token files of llm.c.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/file_source.hpp"

namespace ziggurat::data {

inline constexpr std::int64_t llmc_header_bytes = 1024;

/// The two numbers that a file of tokens begins with.
struct LlmcKind {
    std::int32_t magic;
    std::int32_t version;
};
inline constexpr LlmcKind llmc_of_16_bits{20240520, 1};  ///< GPT-2's
inline constexpr LlmcKind llmc_of_32_bits{20240801, 7};  ///< Llama 3's

/// The type of tokens by the number that a file begins with; nothing when it is none of llm.c's token files.
std::optional<TokenType> llmc_type(std::int32_t magic);

/// Kind of llm.c's files that hold no tokens to train on, by their first number; null when it is none of
/// these.
const char* other_llmc_kind(std::int32_t magic);

/// Kind of a file that holds no tokens of llm.c, as the reason in a complaint: `a model file of llm.c`, or
/// what it looks like.
std::string kind_of_llmc(const MappedFile& file);

/// The .bin files that a path or pattern names, one after the other.
///
/// Source: llm.c, dev/data/data_common.py: 256 int32 of header (magic, version, number of tokens), then the
/// tokens; magic 20240520 and version 1: uint16 (GPT-2), magic 20240801 and version 7: uint32 (Llama 3).
class LlmcSource final : public FileSource {
  public:
    LlmcSource(const std::string& pattern, const std::string& key);
};

}  // namespace ziggurat::data
