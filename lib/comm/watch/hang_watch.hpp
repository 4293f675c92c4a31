/// Patience of a rank: waits that take too long, and a neighbour that is stopped.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "comm/watch/watch_list.hpp"

namespace ziggurat::comm {

/// Looks at this rank's own wait, as published on the board, and at one neighbour, so that every rank is
/// looked at by somebody, whatever the others do.
///
/// Time in which this process did not run itself (stopped with the whole job, the machine asleep) does not
/// count, nor time in which the launcher is stopped: ranks that print then wait for it.
class HangWatch {
  public:
    /// \param list    outlives this
    /// \param now_ns  monotonic_ns(), here and below
    HangWatch(const WatchList& list, std::int64_t now_ns);

    /// To be called about once in tick_ns().
    ///
    /// \param ended  by peer: it has finished
    /// \returns what this rank should say or do, if anything
    std::optional<HangVerdict> look(std::int64_t now_ns,
                                    double patience_seconds,
                                    const std::vector<bool>& ended);

    /// Time between two looks: often enough to judge within the patience, seldom enough to cost nothing.
    static std::int64_t tick_ns(double patience_seconds) noexcept;
    /// A longer time between two looks means that this process did not run.
    static std::int64_t longest_pause_ns(double patience_seconds) noexcept;

    /// A rank that waited this share of the patience is judged: the rest is for the looks between.
    static constexpr double judged_share = 0.8;
    /// From this share of it on, the work of the others is compared, and other machines are asked: a short
    /// wait costs nothing.
    static constexpr double noted_share = 0.3;

  private:
    bool is_launcher_stopped() const;
    std::optional<HangVerdict> check_neighbour(double patience_seconds, const std::vector<bool>& ended);
    std::optional<HangVerdict> check_own_wait(double patience_seconds);
    void note_work();
    std::optional<HangVerdict> judge(double waited, double patience_seconds);

    const WatchList& list_;
    std::vector<std::int64_t> ticks_before_;  ///< processor time of each peer at noted_ns_
    std::vector<std::int64_t> io_before_;     ///< and the bytes that it had moved
    std::int64_t now_ns_ = 0;                 ///< of this look
    std::int64_t noted_ns_ = 0;               ///< when these were read; 0: not yet
    std::int64_t last_look_ns_;
    std::int64_t patient_since_ns_ = 0;      ///< patience does not count what came before
    std::int64_t neighbour_stopped_ns_ = 0;  ///< when it was first seen stopped; 0: it runs
    std::int64_t judged_wait_ = 0;           ///< the wait that rounds_ counts, by its beginning
    int rounds_ = 0;
};

}  // namespace ziggurat::comm
