/// Folder of a missing file, for messages.
#pragma once

#include <string>

namespace ziggurat {

/// Returns the absolute folder of `path`, printable and in quotes: `'/home/me/data'` for `data/a.txt`.
///
/// A relative path is resolved against the working directory.
std::string looked_in(const std::string& path);

}  // namespace ziggurat
