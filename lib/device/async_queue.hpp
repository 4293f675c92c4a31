/// AsyncQueue: a queue of host kernels that run late, on memory that callers must not access.
#pragma once

#include <cstddef>
#include <functional>

#include "device/queue.hpp"

namespace ziggurat::device {

/// Queue interface for streams whose space is MemorySpace::emulated_host, used by `kernels`.
///
/// The only implementation is that of EmulatedDevice. Tests link it; the program does only if the build
/// requests it. It exposes errors that would fail on a device.
class AsyncQueue : public Queue {
  public:
    /// Runs `work` after all earlier calls.
    virtual void run(std::function<void()> work) = 0;
    /// Returns the address at which kernels access the byte at `address`; nullptr for nullptr.
    ///
    /// Errors: Error{internal} if it is not memory of the device
    virtual std::byte* reachable(const std::byte* address) const = 0;
};

}  // namespace ziggurat::device
