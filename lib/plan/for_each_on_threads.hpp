/// Independent work on the threads of this machine.
#pragma once

#include <cstddef>
#include <functional>

namespace ziggurat::plan {

/// Calls `work` with 0 to `count` - 1, in any order, on this thread and on others.
///
/// Calls from within `work` use their own thread only.
///
/// \param max_threads  upper bound, with this thread
/// Errors: the exception of the first index that threw one, after all threads have ended
void for_each_on_threads(std::size_t count,
                         const std::function<void(std::size_t)>& work,
                         std::size_t max_threads = 8);

/// Sets the upper bound of threads on which a plan builds programs of several ranks; 1 until then.
///
/// For commands that only plan. Ranks of a training plan on their own cores, and with one arena of the heap.
/// Call before any thread starts.
void set_threads_of_plans(std::size_t max_threads);
std::size_t threads_of_plans() noexcept;

}  // namespace ziggurat::plan
