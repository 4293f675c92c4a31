/// Plain text, one token per byte.
#pragma once

#include <vector>

#include "data/file_sequence.hpp"
#include "data/token_source.hpp"

namespace ziggurat::data {

/// The files that a path or pattern names, one after the other.
class TextSource final : public TokenSource {
  public:
    TextSource(const std::string& pattern, const std::string& key);

    std::int64_t num_tokens() const override { return files_.num_tokens(); }
    void read(std::int64_t begin, std::span<std::int32_t> out) const override;
    std::string place_of(std::int64_t token) const override { return files_.place_of(token); }
    std::vector<SourceFile> files() const override { return files_.files(); }

  private:
    FileSequence files_;
};

}  // namespace ziggurat::data
