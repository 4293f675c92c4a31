#include "comm/watch/remote_heartbeat.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "comm/watch/hang_watch.hpp"

namespace ziggurat::comm {

RemoteHeartbeat::RemoteHeartbeat(const MonitoredRanks& list) : list_{list} {}

void RemoteHeartbeat::poll_once(std::int64_t now_ns, double timeout_seconds) {
    if (!list_.link || !list_.asks_remote_nodes()) {
        return;
    }
    const bool has_slept = now_ns - last_look_ns_ > HangWatch::longest_pause_ns(timeout_seconds);
    last_look_ns_ = now_ns;
    if (!is_long_wait(now_ns, HangWatch::noted_share * timeout_seconds)) {
        if (since_ns_ != 0) {
            list_.board.set_silent_remote_ranks("");
        }
        since_ns_ = 0;
        return;
    }
    if (since_ns_ == 0 || has_slept) {
        since_ns_ = now_ns;
    } else {
        // A wait is diagnosed this long after it was first noted; a running rank has answered by then.
        const double window = (HangWatch::diagnosed_share - HangWatch::noted_share) * timeout_seconds;
        const auto window_ns = static_cast<std::int64_t>(window * 1e9);
        list_.board.set_silent_remote_ranks(
            list_.link->describe_silent(std::max(since_ns_, now_ns - window_ns)));
    }
    list_.link->ask();
}

bool RemoteHeartbeat::is_long_wait(std::int64_t now_ns, double seconds) const {
    for (std::size_t peer = 0; peer < list_.peers.size(); ++peer) {
        const auto& activity = list_.line(peer).activity;
        if (activity.doing.load(std::memory_order_acquire) == ActivityState::waits &&
            seconds_between(activity.since_ns.load(), now_ns) >= seconds) {
            return true;
        }
    }
    return false;
}

}  // namespace ziggurat::comm
