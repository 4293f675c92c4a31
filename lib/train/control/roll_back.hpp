/// Rollback of a run to its newest checkpoint because of a spike.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "base/error.hpp"

namespace ziggurat::train {

/// Steps of a rollback, and the sample with which training continues.
struct RollBack {
    std::int64_t from_step = 0;    ///< step of the spike
    std::int64_t to_step = 0;      ///< step of the newest complete checkpoint
    std::int64_t next_sample = 0;  ///< first sample after those of the spike
};

/// Limit on rollbacks to one checkpoint. It ends a run that never gets beyond its next checkpoint.
///
/// Collective: local; the same on all ranks
class RollBackLimit {
  public:
    static constexpr int max_to_one_step = 5;

    /// Counts a rollback.
    ///
    /// Errors: Error{numerics} after too many rollbacks to the same step
    void note(const RollBack& back) {
        count_ = back.to_step == step_ ? count_ + 1 : 1;
        step_ = back.to_step;
        if (count_ > max_to_one_step) {
            throw Error{
                ErrorKind::numerics,
                fmt::format(
                    "rolled back {1} times to the checkpoint of step {0}, each time with different data, and "
                    "each time met a spike before the next checkpoint, the last in step {2}. Lower "
                    "optimizer.lr, raise train.spikes.z, or save more often.",
                    back.to_step, max_to_one_step, back.from_step)};
        }
    }

  private:
    std::int64_t step_ = -1;
    int count_ = 0;
};

}  // namespace ziggurat::train
