/// HangWatch: detects waits that take too long, and a neighbour that is stopped.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "comm/watch/monitored_ranks.hpp"

namespace ziggurat::comm {

struct HangTimeouts {
    double wait_seconds = 0;     ///< of this rank's waits for others
    double stopped_seconds = 0;  ///< of a neighbour that is stopped
};

/// Monitor of this rank's own wait, as published on the board, and of one neighbour.
///
/// So every rank is monitored by another one, in any state of the others.
///
/// Time in which this process did not run (stopped with the whole job, suspended node) does not count.
/// Neither does time in which the launcher is stopped: ranks that print then wait for it.
class HangWatch {
  public:
    /// \param list    outlives this
    /// \param now_ns  monotonic_ns(), here and below
    HangWatch(const MonitoredRanks& list, std::int64_t now_ns);

    /// Polls once. Call it about once per tick_ns().
    ///
    /// \param ended  by peer: it has finished
    /// \returns the diagnosis that this rank should report or act on, if any
    std::optional<HangDiagnosis> poll_once(std::int64_t now_ns,
                                           const HangTimeouts& timeouts,
                                           const std::vector<bool>& ended);

    /// Returns the polling interval: short compared with the timeout, but long enough to be cheap.
    static std::int64_t tick_ns(double timeout_seconds) noexcept;
    /// Returns the longest interval between two polls of a process that runs.
    static std::int64_t longest_pause_ns(double timeout_seconds) noexcept;

    /// Share of the timeout after which a wait is diagnosed; the rest is a margin for polls.
    static constexpr double diagnosed_share = 0.8;
    /// Share of the timeout after which the activity of other ranks is compared and other nodes are asked.
    ///
    /// Shorter waits cost nothing.
    static constexpr double noted_share = 0.3;

  private:
    bool is_launcher_stopped() const;
    std::optional<HangDiagnosis> check_neighbour(double timeout_seconds, const std::vector<bool>& ended);
    std::optional<HangDiagnosis> check_own_wait(double timeout_seconds);
    void note_work();
    std::optional<HangDiagnosis> diagnose(double waited, double timeout_seconds);

    const MonitoredRanks& list_;
    std::vector<std::int64_t> ticks_before_;  ///< CPU time of each peer at noted_ns_
    std::vector<std::int64_t> io_before_;     ///< bytes that each peer had transferred at noted_ns_
    std::int64_t now_ns_ = 0;                 ///< time of this poll
    std::int64_t noted_ns_ = 0;               ///< time when these were read; 0: not yet
    std::int64_t last_look_ns_;
    std::int64_t patient_since_ns_ = 0;      ///< start of the time that counts for the timeout
    std::int64_t neighbour_stopped_ns_ = 0;  ///< time when it was first seen stopped; 0: it runs
    std::int64_t diagnosed_wait_ = 0;        ///< wait that rounds_ counts, identified by its start
    int rounds_ = 0;
};

}  // namespace ziggurat::comm
