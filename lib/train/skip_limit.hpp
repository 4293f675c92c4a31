/// How many updates in a row may be skipped.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "base/error.hpp"

namespace ziggurat::train {

/// Counts updates that were not applied. Collective: local; the same on all ranks
class SkipLimit {
  public:
    /// One more, and the training itself has broken down.
    static constexpr std::int64_t most_in_a_row = 20;

    explicit SkipLimit(std::int64_t skipped) : skipped_{skipped} {}

    void note(bool is_skipped) noexcept {
        skipped_ += is_skipped ? 1 : 0;
        in_a_row_ = is_skipped ? in_a_row_ + 1 : 0;
    }
    /// Since the training began.
    std::int64_t skipped() const noexcept { return skipped_; }

    /// Errors: Error{numerics} when too many were skipped
    void check(std::int64_t step) const {
        if (in_a_row_ > most_in_a_row) {
            throw Error{
                ErrorKind::numerics,
                fmt::format("{} updates in a row were skipped, the last at step {} (loss or gradient is not "
                            "finite). Lower optimizer.lr, lengthen schedule.warmup, or look at the data of "
                            "these steps.",
                            in_a_row_, step)};
        }
    }

  private:
    std::int64_t skipped_;
    std::int64_t in_a_row_ = 0;
};

}  // namespace ziggurat::train
