#include "device/watched_queue.hpp"

#include <utility>

namespace ziggurat::device {

std::shared_ptr<Queue> watched(std::shared_ptr<Queue> queue, WaitObserver* watch) {
    if (watch == nullptr) {
        return queue;
    }
    auto* const given = queue.get();
    return {given, [queue = std::move(queue), watch](Queue*) mutable {
                const ScopedWait wait{watch, "the work of its device"};
                queue.reset();
            }};
}

}  // namespace ziggurat::device
