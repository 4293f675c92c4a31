#include "train/control/stall_detector.hpp"

#include "base/clock.hpp"

namespace ziggurat::train {

StallDetector::News StallDetector::see(std::int64_t count, std::int64_t now_ns) {
    if (count != count_) {
        count_ = count;
        since_ns_ = now_ns;
        warnings_ = 0;
    }
    seconds_ = seconds_between(since_ns_, now_ns);
    if (seconds_ < (warnings_ + 1) * patience_seconds_) {
        return News::none;
    }
    return ++warnings_ < most_patiences ? News::warn : News::give_up;
}

}  // namespace ziggurat::train
