/// Queue: what stands behind the streams of a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace ziggurat::device {

/// A place in a queue that can be asked whether work has come to it; see Event.
class Mark {
  public:
    virtual ~Mark() = default;
    /// Errors: what work in front of it has thrown
    virtual bool is_done() const = 0;
    /// Time (monotonic_ns) at which the queue came to it. \pre is_done()
    virtual std::int64_t time_ns() const = 0;
};

/// Work of a device, done in order, behind the back of the thread that calls. One thread calls.
class Queue {
  public:
    virtual ~Queue() = default;
    /// Each side is memory of the device or of the host; both live until it is done.
    virtual void copy(std::byte* to, const std::byte* from, std::int64_t bytes) = 0;
    virtual std::unique_ptr<Mark> make_mark() = 0;
    /// Moves a mark behind all that was called so far. \pre it was made by a queue of the same device
    virtual void record(Mark& mark) = 0;
    /// What is called from now on begins when `mark`, where it is now, is done.
    virtual void wait_for(const Mark& mark) = 0;
    /// Errors: what work of this queue has thrown
    virtual void finish() = 0;
    /// See Stream::load().
    virtual void load(const std::function<void()>& /*work*/) {}
};

}  // namespace ziggurat::device
