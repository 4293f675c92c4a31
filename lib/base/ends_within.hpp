/// Calls that may not return: with a time limit.
#pragma once

#include <functional>

namespace ziggurat {

/// Runs `work` on a thread of its own and waits until it returns, at most `seconds`.
///
/// Returns false if it has not returned by then. Its thread then continues, so `work` must own what it uses.
/// Errors: Error{resource} when the system has no thread
/// \pre `work` does not throw
bool ends_within(double seconds, std::function<void()> work);

}  // namespace ziggurat
