/// Use of a rank's links between tiers: bytes moved beside those planned, and busy time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "schedule/step_program.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "train/step/executor.hpp"

namespace ziggurat::train {

/// One link of one rank over all steps of a run.
struct LinkUse {
    std::string link;                ///< as its lane is called: `nvme_read`
    std::int64_t calls = 0;          ///< ops done
    std::int64_t planned_bytes = 0;  ///< of `steps` steps, less what was spared in the first ones
    std::int64_t moved_bytes = 0;    ///< counted where they were copied or given to a disk
    std::int64_t steps = 0;
    double busy_seconds = 0;       ///< in which at least one op was under way, without the first steps
    std::int64_t timed_bytes = 0;  ///< moved in those seconds
};

/// Adds what links have moved, and should have, by link.
void add_up(std::span<const LinkUse> uses, schedule::BytesByLink& moved, schedule::BytesByLink& planned);

/// Counts the links of one program step by step.
///
/// Transfers under way at the end of a step count to the next; once the executor has finished, counted and
/// planned bytes must agree to the byte. Collective: local. No allocation after construction but in uses(),
/// as long as a step's records are not more than before.
class LinkCount {
  public:
    /// Bytes that an op has moved since it was bound.
    using BytesMoved = std::function<std::int64_t(int op)>;

    /// \param bytes_spared  that an op should have moved since it was bound, and need not; nothing: none
    LinkCount(const schedule::Program& program, BytesMoved bytes_moved, BytesMoved bytes_spared = {});

    /// After each step, and once more after Executor::finish (`is_step` false), with the executor's records.
    void count(std::span<const LaneRecord> records, bool is_step = true);

    /// Of one step, by the plan.
    const schedule::BytesByLink& planned() const noexcept { return planned_; }
    /// All since construction, of the links that the program uses.
    std::vector<LinkUse> uses() const;
    /// Seconds in which the disks had nothing to do while a transfer waited for nothing but being started,
    /// without the first steps.
    double idle_disk_seconds() const noexcept {
        return 1e-9 * static_cast<double>(idle_ns_ - excluded_idle_ns_);
    }

  private:
    struct Interval {
        std::int64_t begin_ns = 0;
        std::int64_t end_ns = 0;
    };
    struct Use {
        std::size_t link = 0;
        Interval time;
    };
    struct Sum {
        std::int64_t calls = 0, moved_bytes = 0, busy_ns = 0, busy_until_ns = 0;
        std::int64_t excluded_busy_ns = 0, excluded_bytes = 0;
    };
    struct Source {
        int op = -1;
        std::size_t link = 0;
        std::int64_t seen = 0;  ///< bytes of it that are in the sum
    };

    void count_bytes();
    void count_times(std::span<const LaneRecord> records);
    void count_idle_waits();

    BytesMoved bytes_moved_, bytes_spared_;
    std::array<Sum, schedule::num_links> sums_{};
    std::vector<Source> sources_;   ///< ops that move bytes
    std::vector<int> link_of_op_;   ///< -1: moves nothing
    std::vector<Use> latest_uses_;  ///< of one call of count()
    std::vector<Interval> busy_;    ///< of the disks, as far as open waits may meet them
    std::vector<Interval> waits_;   ///< of transfers that could have started, not settled
    std::vector<Interval> latest_waits_;
    schedule::BytesByLink planned_{};
    std::int64_t idle_ns_ = 0, excluded_idle_ns_ = 0;
    std::int64_t steps_ = 0;
};

}  // namespace ziggurat::train
