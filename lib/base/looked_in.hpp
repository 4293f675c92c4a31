/// The folder in which a file is looked for, for messages about one that is not there.
#pragma once

#include <string>

namespace ziggurat {

/// `'/home/me/data'` of `data/a.txt`: absolute, as seen from the folder that the process is in, in quotes and
/// printable.
std::string looked_in(const std::string& path);

}  // namespace ziggurat
