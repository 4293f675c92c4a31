/// Somebody who sees that planning goes on.
#pragma once

#include <cstddef>
#include <functional>

namespace ziggurat::plan {

/// Told of what planning builds, by ops: each time a rank's programs are there.
using Watch = std::function<void(std::size_t ops)>;

}  // namespace ziggurat::plan
