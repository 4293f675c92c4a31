#include "device/stream.hpp"

#include "base/clock.hpp"
#include "base/contract.hpp"
#include "device/event.hpp"
#include "device/queue.hpp"

namespace ziggurat::device {

void Stream::wait_for(const Event& event) const {
    if (queue_ == nullptr) {
        ZG_EXPECTS(event.is_done());
    } else if (event.mark_ != nullptr && event.is_recorded_) {
        queue_->wait_for(*event.mark_);
    }
}

void Stream::finish() const {
    if (queue_ != nullptr) {
        const ScopedWait wait{watch_, "the work of its device"};
        queue_->finish();
    }
}

void Stream::load(const std::function<void()>& work) const {
    if (queue_ != nullptr) {
        const ScopedWait wait{watch_, "its device to load kernels"};
        queue_->load(work);
    }
}

Event::Event(const Stream& stream) : mark_{stream.is_late() ? stream.queue().record_event() : nullptr} {}

void Event::record(const Stream& stream) {
    ZG_EXPECTS(stream.is_late() == (mark_ != nullptr));
    is_recorded_ = true;
    if (mark_ != nullptr) {
        stream.queue().record(*mark_);
    } else {
        time_ns_ = monotonic_ns();
    }
}

}  // namespace ziggurat::device
