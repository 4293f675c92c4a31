/// Use of a rank's links between tiers: moved and planned bytes, and busy time.
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

/// Use of one link of one rank over all steps of a run.
struct LinkUse {
    std::string link;        ///< name of its lane, such as `nvme_read`
    std::int64_t calls = 0;  ///< completed ops
    /// Planned bytes of `steps` steps, minus those that the first steps skipped, with repeated updates.
    std::int64_t planned_bytes = 0;
    std::int64_t moved_bytes = 0;  ///< counted when they were copied or submitted to a disk
    std::int64_t steps = 0;
    double busy_seconds = 0;         ///< with at least one op running, without the first steps
    std::int64_t timed_bytes = 0;    ///< moved in those seconds
    std::int64_t skipped_bytes = 0;  ///< of the first steps, which do not read zeros
    std::int64_t redone_bytes = 0;   ///< planned for updates that were repeated: ops with a predicate
};

/// Adds the moved and the planned bytes of `uses` to sums by link.
void add_up(std::span<const LinkUse> uses, schedule::BytesByLink& moved, schedule::BytesByLink& planned);

/// Counts the link traffic of one program, step by step.
///
/// A transfer that still runs at the end of a step counts to the next step. After the executor has finished,
/// counted and planned bytes must be equal. No allocation after construction except in uses(), unless a step
/// has more records than any before. Collective: local.
class LinkCount {
  public:
    /// Returns the bytes that an op has moved since it was bound.
    using BytesMoved = std::function<std::int64_t(schedule::OpId op)>;

    /// \param skipped_bytes  returns the planned bytes that an op skipped since it was bound; empty: none
    /// \param times_run      returns the number of steps in which an op with a predicate ran; empty: none
    LinkCount(const schedule::Program& program,
              BytesMoved bytes_moved,
              BytesMoved skipped_bytes = {},
              std::function<std::int64_t(schedule::OpId op)> times_run = {});

    /// Counts the executor's records.
    ///
    /// Call after each step, and once after Executor::finish with `is_step` false.
    void count(std::span<const LaneRecord> records, bool is_step = true);

    /// Returns the planned bytes of one step.
    const schedule::BytesByLink& planned() const noexcept { return planned_; }
    /// Returns all use since construction, for the links that the program uses.
    std::vector<LinkUse> uses() const;
    /// Returns the seconds in which the disks were idle although a transfer was ready to start.
    ///
    /// The first steps are not included.
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
        schedule::OpId op = -1;
        std::size_t link = 0;
        std::int64_t seen = 0;          ///< its bytes that are in the sum
        std::int64_t redone_bytes = 0;  ///< bytes of one run of an op with a predicate; otherwise 0
    };

    void count_bytes();
    void count_times(std::span<const LaneRecord> records);
    void count_idle_waits();

    BytesMoved bytes_moved_, bytes_spared_;
    std::function<std::int64_t(schedule::OpId op)> times_run_;
    std::array<Sum, schedule::num_links> sums_{};
    std::vector<Source> sources_;   ///< ops that move bytes
    std::vector<int> link_of_op_;   ///< -1: the op moves no bytes
    std::vector<Use> latest_uses_;  ///< of the latest call of count()
    std::vector<Interval> busy_;    ///< of the disks, as long as they can overlap intervals of `waits_`
    std::vector<Interval> waits_;   ///< of transfers that were ready to start; not yet counted
    std::vector<Interval> latest_waits_;
    schedule::BytesByLink planned_{};
    std::int64_t idle_ns_ = 0, excluded_idle_ns_ = 0;
    std::int64_t steps_ = 0;
};

}  // namespace ziggurat::train
