#include "train/control/work_stop.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/clock.hpp"

namespace ziggurat::train {

void WorkStop::end_at(std::int64_t end_ns, const std::string& source) {
    if (end_ns_ == 0 || end_ns < end_ns_) {
        end_ns_ = end_ns;
        source_ = source;
    }
}

std::string WorkStop::reason() const {
    if (signals_.requested() > StopSignals::none) {
        return signals_.signal() != 0 ? "received " + signal_name(signals_.signal())
                                      : "another rank was asked to stop";
    }
    return end_ns_ != 0 && monotonic_ns() >= end_ns_ ? source_ + " is reached" : "";
}

StopCheck WorkStop::check_of(std::string activity, std::string remedy) const {
    return [this, activity = std::move(activity), remedy = std::move(remedy)] {
        if (const auto why = reason(); !why.empty()) {
            throw Stopped{stopped_text(activity, why, remedy)};
        }
    };
}

std::string stopped_text(const std::string& activity, const std::string& reason, const std::string& remedy) {
    return fmt::format("stopped while it {} ({}). {}", activity, reason, remedy);
}

}  // namespace ziggurat::train
