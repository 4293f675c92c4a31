/// Event: a point in the work of a stream.
#pragma once

#include <cstdint>
#include <memory>

#include "device/queue.hpp"
#include "device/stream.hpp"

namespace ziggurat::device {

/// Recorded again and again without allocating. On a host stream it is done as soon as it is recorded.
class Event {
  public:
    /// \param stream  of the processor on whose streams it is recorded
    explicit Event(const Stream& stream);

    void record(const Stream& stream);
    /// Whether the stream has come to where it was recorded last; before the first time it has.
    ///
    /// Errors: what work in front of it has thrown
    bool is_done() const { return mark_ == nullptr || !is_recorded_ || mark_->is_done(); }
    /// Time (monotonic_ns) at which the stream came to it. \pre recorded and done
    std::int64_t time_ns() const { return mark_ == nullptr ? time_ns_ : mark_->time_ns(); }

  private:
    friend class Stream;
    std::unique_ptr<Mark> mark_;  ///< nothing on the host
    bool is_recorded_ = false;
    std::int64_t time_ns_ = 0;
};

}  // namespace ziggurat::device
