/// Independent work on the threads of this machine.
#pragma once

#include <cstddef>
#include <functional>

namespace ziggurat::plan {

/// Calls `work` with 0 to `count` - 1, in any order, on this thread and on others.
///
/// Errors: the exception of the first index that threw one, after all threads have ended
void for_each_on_threads(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace ziggurat::plan
