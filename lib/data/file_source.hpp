/// Base of sources whose tokens are those of their files in order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/file_sequence.hpp"
#include "data/token_source.hpp"

namespace ziggurat::data {

class FileSource : public TokenSource {
  public:
    std::int64_t num_tokens() const final { return sequence_.num_tokens(); }
    void read(std::int64_t begin, std::span<std::int32_t> out) const final { sequence_.read(begin, out); }
    std::string location_of(std::int64_t token) const final { return sequence_.location_of(token); }
    std::vector<SourceFile> files() const final { return sequence_.files(); }

  protected:
    /// Filled by constructors of derived classes.
    FileSequence sequence_;
};

}  // namespace ziggurat::data
