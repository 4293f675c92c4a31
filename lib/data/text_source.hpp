/// Plain text, one token per byte.
#pragma once

#include <string>

#include "data/file_source.hpp"

namespace ziggurat::data {

/// The files that a path or pattern names, one after the other.
class TextSource final : public FileSource {
  public:
    TextSource(const std::string& pattern, const std::string& key);
};

}  // namespace ziggurat::data
