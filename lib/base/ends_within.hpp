/// Time limit for calls that may not return.
#pragma once

#include <functional>

namespace ziggurat {

/// Runs `work` on its own thread and waits at most `seconds` until it returns.
///
/// Returns false if it has not returned by then. The thread then continues, so `work` must own its data.
/// Errors: Error{resource} if the thread cannot be started
/// \pre `work` does not throw
bool ends_within(double seconds, std::function<void()> work);

}  // namespace ziggurat
