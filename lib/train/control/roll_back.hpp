/// A run that goes back to its newest checkpoint because of a spike.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "base/error.hpp"

namespace ziggurat::train {

/// Where from, where to, and the data that are passed over.
struct RollBack {
    std::int64_t from_step = 0;    ///< the spike
    std::int64_t to_step = 0;      ///< of the newest complete checkpoint
    std::int64_t next_sample = 0;  ///< behind those of the spike
};

/// Limit on going back to one checkpoint: a run that never gets further than that has an end too. Collective:
/// local; the same on all ranks
class RollBackLimit {
  public:
    static constexpr int most_to_one_step = 5;

    /// Errors: Error{numerics} when it was gone back to that step too often
    void note(const RollBack& back) {
        count_ = back.to_step == step_ ? count_ + 1 : 1;
        step_ = back.to_step;
        if (count_ > most_to_one_step) {
            throw Error{
                ErrorKind::numerics,
                fmt::format(
                    "went back to the checkpoint of step {} {} times, each time with other data, and met "
                    "a spike before the next checkpoint again, the last in step {}. Lower optimizer.lr, "
                    "raise train.spikes.z, or save more often.",
                    back.to_step, most_to_one_step, back.from_step)};
        }
    }

  private:
    std::int64_t step_ = -1;
    int count_ = 0;
};

}  // namespace ziggurat::train
