#include "comm/watch/hang_watch.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/clock.hpp"

namespace ziggurat::comm {
namespace {

/// Number of polls within the timeout, so that a stopped rank is reported before the timeout ends.
constexpr int polls_per_timeout = 20;
constexpr std::int64_t longest_tick_ns = 1'000'000'000;
/// A rank that used less than this share of the time does not compute.
constexpr double min_cpu_share = 0.01;

}  // namespace

HangWatch::HangWatch(const MonitoredRanks& list, std::int64_t now_ns)
    : list_{list},
      ticks_before_(list.peers.size(), 0),
      io_before_(list.peers.size(), 0),
      last_look_ns_{now_ns} {}

std::int64_t HangWatch::tick_ns(double timeout_seconds) noexcept {
    return std::min(longest_tick_ns, static_cast<std::int64_t>(timeout_seconds * 1e9 / polls_per_timeout));
}

std::int64_t HangWatch::longest_pause_ns(double timeout_seconds) noexcept {
    return 3 * tick_ns(timeout_seconds) + longest_tick_ns;
}

std::optional<HangDiagnosis> HangWatch::poll_once(std::int64_t now_ns,
                                                  const HangTimeouts& timeouts,
                                                  const std::vector<bool>& ended) {
    now_ns_ = now_ns;
    const bool is_stopped = is_launcher_stopped();
    if (is_stopped || now_ns_ - last_look_ns_ > longest_pause_ns(timeouts.wait_seconds)) {
        patient_since_ns_ = now_ns_;
        neighbour_stopped_ns_ = 0;
        noted_ns_ = 0;
    }
    last_look_ns_ = now_ns_;
    if (is_stopped) {
        return std::nullopt;
    }
    auto verdict = check_neighbour(timeouts.stopped_seconds, ended);
    return verdict ? verdict : check_own_wait(timeouts.wait_seconds);
}

bool HangWatch::is_launcher_stopped() const {
    const auto state = list_.launcher ? list_.sight.state(*list_.launcher) : std::nullopt;
    return state && state->is_stopped();
}

std::optional<HangDiagnosis> HangWatch::check_neighbour(double timeout_seconds,
                                                        const std::vector<bool>& ended) {
    const std::size_t ranks = list_.peers.size();
    std::size_t next = (list_.me + 1) % ranks;
    while (next != list_.me && ended[next]) {
        next = (next + 1) % ranks;
    }
    const auto state = next == list_.me ? std::nullopt : list_.sight.state(list_.peers[next].pid);
    if (!state || !state->is_stopped()) {
        neighbour_stopped_ns_ = 0;
        return std::nullopt;
    }
    neighbour_stopped_ns_ = neighbour_stopped_ns_ == 0 ? now_ns_ : neighbour_stopped_ns_;
    if (seconds_between(neighbour_stopped_ns_, now_ns_) < diagnosed_share * timeout_seconds) {
        return std::nullopt;
    }
    const std::vector<RankReport> both{list_.report_of(next, now_ns_), list_.report_of(list_.me, now_ns_)};
    return diagnose_hang(both, 1, 0, 0);
}

std::optional<HangDiagnosis> HangWatch::check_own_wait(double timeout_seconds) {
    const auto& mine = list_.my_line().activity;
    const bool is_waiting = mine.doing.load(std::memory_order_acquire) != ActivityState::works;
    const std::int64_t since = mine.since_ns.load();
    if (!is_waiting || since != diagnosed_wait_) {
        diagnosed_wait_ = is_waiting ? since : 0;
        noted_ns_ = 0;
        rounds_ = 0;
    }
    const double waited = seconds_between(std::max(since, patient_since_ns_), now_ns_);
    if (!is_waiting || waited < noted_share * timeout_seconds) {
        return std::nullopt;
    }
    if (noted_ns_ == 0) {
        note_work();
    }
    if (waited < diagnosed_share * timeout_seconds) {
        return std::nullopt;
    }
    return diagnose(waited, timeout_seconds);
}

void HangWatch::note_work() {
    for (std::size_t p = 0; p < list_.peers.size(); ++p) {
        const auto state = list_.sight.state(list_.peers[p].pid);
        ticks_before_[p] = state ? state->cpu_ticks : 0;
        io_before_[p] = list_.sight.io_bytes(list_.peers[p].pid);
    }
    noted_ns_ = now_ns_;
}

std::optional<HangDiagnosis> HangWatch::diagnose(double waited, double timeout_seconds) {
    const auto ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
    const double min_ticks = min_cpu_share * seconds_between(noted_ns_, now_ns_) * ticks_per_second;
    std::vector<RankReport> reports;
    for (std::size_t p = 0; p < list_.peers.size(); ++p) {
        reports.push_back(list_.report_of(p, now_ns_));
        if (const auto& state = reports.back().state) {
            reports.back().has_moved = static_cast<double>(state->cpu_ticks - ticks_before_[p]) > min_ticks ||
                                       list_.sight.io_bytes(list_.peers[p].pid) > io_before_[p];
        }
    }
    const std::string silent = list_.link ? list_.board.silent_remote_ranks() : std::string{};
    const HangDiagnosis verdict = diagnose_hang(reports, list_.me, list_.num_remote(), rounds_, silent);
    if (verdict.leaves && verdict.culprit < 0 && list_.link && waited < timeout_seconds) {
        return std::nullopt;  // a rank of another node that knows the cause may report it first
    }
    ++rounds_;
    patient_since_ns_ = now_ns_;
    noted_ns_ = 0;
    // Only the first waiting rank prints a warning.
    const bool others_warn =
        std::any_of(reports.begin(), reports.begin() + static_cast<std::ptrdiff_t>(list_.me),
                    [](const RankReport& report) { return report.is_waiting || report.device_busy; });
    return !verdict.leaves && others_warn ? std::nullopt : std::optional{verdict};
}

}  // namespace ziggurat::comm
