#include "device/watched_queue.hpp"

#include <utility>

namespace ziggurat::device {

std::shared_ptr<Queue> watched(std::shared_ptr<Queue> queue, WaitWatch* watch) {
    if (watch == nullptr) {
        return queue;
    }
    auto* const given = queue.get();
    return {given, [queue = std::move(queue), watch](Queue*) mutable {
                const WatchedWait wait{watch, "what its device was given"};
                queue.reset();
            }};
}

}  // namespace ziggurat::device
