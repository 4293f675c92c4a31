/// Callback that reports the progress of planning.
#pragma once

#include <cstddef>
#include <functional>

namespace ziggurat::plan {

/// Called with the number of ops each time the programs of a rank have been built.
using Watch = std::function<void(std::size_t ops)>;

}  // namespace ziggurat::plan
