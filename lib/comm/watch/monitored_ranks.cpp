#include "comm/watch/monitored_ranks.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace ziggurat::comm {

int MonitoredRanks::index_of(int rank) const noexcept {
    const auto at =
        std::find_if(peers.begin(), peers.end(), [rank](const Peer& peer) { return peer.rank == rank; });
    return at == peers.end() ? -1 : static_cast<int>(at - peers.begin());
}

RankReport MonitoredRanks::report_of(std::size_t peer, std::int64_t now_ns) const {
    const auto& [rank, pid, started_at] = peers[peer];
    RankReport report{.rank = rank, .pid = pid, .state = sight.state(pid)};
    if (is_shared || peer == me) {
        const auto& activity = line(peer).activity;
        const auto doing = activity.doing.load(std::memory_order_acquire);
        report.is_waiting = doing == ActivityState::waits;
        report.device_busy = doing == ActivityState::device_busy;
        report.seconds = std::max(0.0, seconds_between(activity.since_ns.load(), now_ns));
        report.what = activity.what.load();
    }
    return report;
}

std::string MonitoredRanks::own_name() const {
    return "rank " + std::to_string(peers[me].rank) + " of " + std::to_string(world_size) + " (" + host + ")";
}

std::string MonitoredRanks::own_work() const {
    const std::string work = describe_work(report_of(me, monotonic_ns()));
    return own_name() + (work.empty() ? "" : ", which " + work);
}

}  // namespace ziggurat::comm
