/// DelayedQueue: a queue of host kernels that run late, on memory that callers may not touch.
#pragma once

#include <cstddef>
#include <functional>

#include "device/queue.hpp"

namespace ziggurat::device {

/// What `kernels` asks of a stream whose space is MemorySpace::delayed_host. The only one is DelayedHost's,
/// which tests link and the program only where a build asks for it: on it they find what a device would
/// not forgive.
class DelayedQueue : public Queue {
  public:
    /// Runs `work` behind all that was called before.
    virtual void run(std::function<void()> work) = 0;
    /// Where kernels reach the byte that callers know as `address`; nullptr for nullptr.
    ///
    /// Errors: Error{internal} when it is no memory of the device
    virtual std::byte* reachable(const std::byte* address) const = 0;
};

}  // namespace ziggurat::device
