/// Queue: interface of the work queue of a device's stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace ziggurat::device {

/// Event handle: a recorded position in a queue. See Event.
class EventHandle {
  public:
    virtual ~EventHandle() = default;
    /// True if the queue has reached it. Errors: rethrows an exception of earlier work in the queue
    virtual bool is_done() const = 0;
    /// Returns the time (monotonic_ns) at which the queue reached it. \pre is_done()
    virtual std::int64_t time_ns() const = 0;
};

/// Queue that runs a device's work in order, asynchronously to the caller. Used by one thread.
class Queue {
  public:
    virtual ~Queue() = default;
    /// Copies bytes. Each side is memory of the device or of the host; both must live until it is done.
    virtual void copy(std::byte* to, const std::byte* from, std::int64_t bytes) = 0;
    virtual std::unique_ptr<EventHandle> record_event() = 0;
    /// Records a mark after all earlier calls. \pre it was made by a queue of the same device
    virtual void record(EventHandle& mark) = 0;
    /// Makes later calls wait until the current recording of `mark` is done.
    virtual void wait_for(const EventHandle& mark) = 0;
    /// Waits for all work. Errors: rethrows an exception of work of this queue
    virtual void finish() = 0;
    /// See Stream::load().
    virtual void load(const std::function<void()>& /*work*/) {}
};

}  // namespace ziggurat::device
