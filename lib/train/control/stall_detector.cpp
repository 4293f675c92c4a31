#include "train/control/stall_detector.hpp"

#include "base/clock.hpp"

namespace ziggurat::train {

StallDetector::Advice StallDetector::update(std::int64_t count, std::int64_t now_ns) {
    if (const auto pause_ns = now_ns - last_look_ns_; last_look_ns_ > 0 && pause_ns > longest_pause_ns) {
        since_ns_ += pause_ns;
    }
    last_look_ns_ = now_ns;
    if (count != count_) {
        count_ = count;
        since_ns_ = now_ns;
        warnings_ = 0;
    }
    seconds_ = seconds_between(since_ns_, now_ns);
    if (seconds_ < (warnings_ + 1) * timeout_seconds_) {
        return Advice::none;
    }
    return ++warnings_ < max_timeouts ? Advice::warn : Advice::abort;
}

}  // namespace ziggurat::train
