/// Event: a point in the work of a stream.
#pragma once

#include <cstdint>
#include <memory>

#include "device/queue.hpp"
#include "device/stream.hpp"

namespace ziggurat::device {

/// Event that can be recorded repeatedly without allocation. On a host stream it is done once recorded.
class Event {
  public:
    /// \param stream  a stream of the processor on whose streams it will be recorded
    explicit Event(const Stream& stream);

    void record(const Stream& stream);
    /// True if the stream has reached the last recording of the event, or if it was never recorded.
    ///
    /// Errors: rethrows an exception of earlier work in the stream
    bool is_done() const { return mark_ == nullptr || !is_recorded_ || mark_->is_done(); }
    /// Returns the time (monotonic_ns) at which the stream reached it. \pre recorded and done
    std::int64_t time_ns() const { return mark_ == nullptr ? time_ns_ : mark_->time_ns(); }

  private:
    friend class Stream;
    std::unique_ptr<EventHandle> mark_;  ///< nullptr on the host
    bool is_recorded_ = false;
    std::int64_t time_ns_ = 0;
};

}  // namespace ziggurat::device
