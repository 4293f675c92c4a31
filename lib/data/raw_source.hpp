/// Files of token numbers without a header.
#pragma once

#include <string>

#include "data/file_source.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// Returns the token type of the numbers in raw files.
TokenType token_type(spec::RawType type) noexcept;

/// The files that match a path or pattern, concatenated.
///
/// They hold contiguous little-endian numbers without a header.
///
/// Source: nanoGPT, data/openwebtext/prepare.py, whose train.bin has ids of GPT-2 as uint16.
class RawSource final : public FileSource {
  public:
    /// Errors: Error{deck} if the length of a file is not a whole number of tokens, or if it begins with a
    ///         header of llm.c, which would be read as tokens
    RawSource(const std::string& pattern, spec::RawType type, const std::string& key);
};

}  // namespace ziggurat::data
