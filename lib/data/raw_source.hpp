/// Files of bare token numbers.
#pragma once

#include <string>

#include "data/file_source.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// The type in which the numbers of raw files are read.
TokenType token_type(spec::RawType type) noexcept;

/// The files that a path or pattern names, one after the other: numbers back to back, little-endian, without
/// a header.
///
/// Source: nanoGPT, data/openwebtext/prepare.py, whose train.bin has ids of GPT-2 as uint16.
class RawSource final : public FileSource {
  public:
    /// Errors: Error{deck} when a file is no whole number of tokens long, or begins with a header of llm.c,
    ///         which would be trained on
    RawSource(const std::string& pattern, spec::RawType type, const std::string& key);
};

}  // namespace ziggurat::data
