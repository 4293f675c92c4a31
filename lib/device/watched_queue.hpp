/// watched: a queue whose destruction counts as a wait.
#pragma once

#include <memory>

#include "device/queue.hpp"
#include "device/wait_observer.hpp"

namespace ziggurat::device {

/// Returns `queue` with a deleter that notifies `watch`: destruction may wait for work.
///
/// \param watch  outlives the result; may be nullptr
std::shared_ptr<Queue> watched(std::shared_ptr<Queue> queue, WaitObserver* watch);

}  // namespace ziggurat::device
