/// Bytes that a rank's collectives have moved, beside those planned.
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

/// One kind of collective for one purpose, on one rank, over all steps of a run.
struct Flow {
    std::string kind;
    std::string purpose;
    std::int64_t calls = 0;          ///< ops done
    std::int64_t planned_bytes = 0;  ///< of `steps` steps
    std::int64_t moved_bytes = 0;    ///< counted where they were copied
    std::int64_t steps = 0;
    double seconds = 0;            ///< from the start of each op until it was seen to be done
    std::int64_t timed_bytes = 0;  ///< moved in those seconds, which leave the first steps out
};

/// Adds what `flows` have moved, and should have, by purpose.
void add_up(std::span<const Flow> flows, schedule::BytesByPurpose& moved, schedule::BytesByPurpose& planned);

/// Counts one program's traffic step by step.
///
/// Collectives may end while the next step is under way, so what a step's row counts may belong to the step
/// before; once the executor has finished, counted and planned bytes must agree to the byte.
/// Collective: local. No allocation after construction but in flows().
class Traffic {
  public:
    /// Bytes that an op's collectives have moved since assembly.
    using BytesMoved = std::function<std::int64_t(int op)>;

    Traffic(const schedule::Program& program, BytesMoved bytes_moved);

    /// After each step, and once more after Executor::finish (`is_step` false), with the executor's records.
    void count(std::span<const LaneRecord> records, bool is_step = true);

    /// Of one step, by the plan.
    const schedule::BytesByPurpose& planned() const noexcept { return planned_; }
    /// All since construction.
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
        int op = -1;
        std::size_t sum = 0;
        std::int64_t seen = 0;  ///< bytes of it that are in the sum
    };

    const schedule::Program& program_;
    BytesMoved bytes_moved_;
    std::vector<Sum> sums_;
    std::vector<Source> sources_;  ///< ops that move bytes
    std::vector<int> sum_of_op_;   ///< -1: moves nothing
    schedule::BytesByPurpose planned_{};
    std::int64_t steps_ = 0;
};

}  // namespace ziggurat::train
