/// watched: a queue whose end is heard of.
#pragma once

#include <memory>

#include "device/queue.hpp"
#include "device/wait_watch.hpp"

namespace ziggurat::device {

/// `queue`, which may wait for its work when its life ends: then `watch` hears of a wait.
///
/// \param watch  outlives what is returned; nothing: nobody hears
std::shared_ptr<Queue> watched(std::shared_ptr<Queue> queue, WaitWatch* watch);

}  // namespace ziggurat::device
