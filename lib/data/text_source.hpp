/// Plain text, one token per byte.
#pragma once

#include <string>

#include "data/file_source.hpp"

namespace ziggurat::data {

/// The files that match a path or pattern, concatenated.
///
/// Errors: Error{deck} that begins with `key` and names a file that is compressed, has JSON lines, or is
///         recognised as another format than text (base/file_kind.hpp)
class TextSource final : public FileSource {
  public:
    TextSource(const std::string& pattern, const std::string& key);
};

}  // namespace ziggurat::data
