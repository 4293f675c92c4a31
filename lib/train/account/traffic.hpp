/// Bytes that a rank's collectives have moved, and the planned bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "schedule/step_program.hpp"
#include "train/account/step_report.hpp"
#include "train/step/executor.hpp"

namespace ziggurat::train {

/// Traffic of one kind of collective for one purpose, on one rank, over all steps of a run.
struct Flow {
    std::string kind;
    std::string purpose;
    std::int64_t calls = 0;          ///< completed ops
    std::int64_t planned_bytes = 0;  ///< of `steps` steps
    std::int64_t moved_bytes = 0;    ///< counted when they were copied
    std::int64_t steps = 0;
    double seconds = 0;            ///< from start to observed end of each op, without the first steps
    std::int64_t timed_bytes = 0;  ///< moved in those seconds
};

/// Adds the moved and the planned bytes of `flows` to sums by purpose.
void add_up(std::span<const Flow> flows, schedule::BytesByPurpose& moved, schedule::BytesByPurpose& planned);

/// Counts the collective traffic of one program, step by step.
///
/// Collectives may end while the next step runs, so the count of a step may include bytes of the previous
/// step. After the executor has finished, counted and planned bytes must be equal.
/// Collective: local. No allocation after construction except in flows().
class Traffic {
  public:
    /// Returns the bytes that an op's collectives have moved since assembly.
    using BytesMoved = std::function<std::int64_t(schedule::OpId op)>;

    Traffic(const schedule::Program& program, BytesMoved bytes_moved);

    /// Counts the executor's records.
    ///
    /// Call after each step, and once after Executor::finish with `is_step` false.
    void count(std::span<const LaneRecord> records, bool is_step = true);

    /// Returns the planned bytes of one step.
    const schedule::BytesByPurpose& planned() const noexcept { return planned_; }
    /// Returns all traffic since construction.
    std::vector<Flow> flows() const;

  private:
    struct Sum {
        schedule::OpKind kind = schedule::OpKind::all_gather;
        schedule::Purpose purpose = schedule::Purpose::none;
        std::int64_t calls = 0, planned_bytes_per_step = 0, moved_bytes = 0;
        double seconds = 0, excluded_seconds = 0;
        std::int64_t excluded_bytes = 0;
    };
    struct Source {
        schedule::OpId op = -1;
        std::size_t sum = 0;
        std::int64_t seen = 0;  ///< its bytes that are in the sum
    };

    const schedule::Program& program_;
    BytesMoved bytes_moved_;
    std::vector<Sum> sums_;
    std::vector<Source> sources_;  ///< ops that move bytes
    std::vector<int> sum_of_op_;   ///< -1: the op moves no bytes
    schedule::BytesByPurpose planned_{};
    std::int64_t steps_ = 0;
};

}  // namespace ziggurat::train
