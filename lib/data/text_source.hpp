/// Plain text, one token per byte.
#pragma once

#include <string>

#include "data/file_source.hpp"

namespace ziggurat::data {

/// The files that a path or pattern names, one after the other.
///
/// Errors: Error{deck} that begins with `key` and names a file that is packed, that has JSON lines, or that
/// is recognised as no text (base/file_kind.hpp)
class TextSource final : public FileSource {
  public:
    TextSource(const std::string& pattern, const std::string& key);
};

}  // namespace ziggurat::data
