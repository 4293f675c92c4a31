/// Limit on updates skipped in a row.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "base/error.hpp"

namespace ziggurat::train {

/// Counts skipped updates.
///
/// Collective: local; the same on all ranks
class SkipLimit {
  public:
    /// Maximum number of skipped updates in a row. One more means that training has diverged.
    static constexpr std::int64_t max_in_a_row = 20;

    /// \param skipped   skipped updates before a resume, in all
    /// \param in_a_row  skipped updates at the end of the resumed training
    SkipLimit(std::int64_t skipped, std::int64_t in_a_row) : skipped_{skipped}, in_a_row_{in_a_row} {}

    /// \param is_spike  the values were finite: skipping such an update is not a divergence
    void note(bool is_skipped, bool is_spike = false) noexcept {
        skipped_ += is_skipped ? 1 : 0;
        in_a_row_ = is_skipped && !is_spike ? in_a_row_ + 1 : 0;
    }
    /// Returns the number of skipped updates since the training began.
    std::int64_t skipped() const noexcept { return skipped_; }
    /// Returns the number of latest steps that were skipped because of nonfinite values; 0 after a finite
    /// step.
    std::int64_t in_a_row() const noexcept { return in_a_row_; }

    /// Checks the limit. Errors: Error{numerics} if too many updates in a row were skipped
    void check(std::int64_t step) const {
        if (in_a_row_ > max_in_a_row) {
            throw Error{
                ErrorKind::numerics,
                fmt::format("{} updates in a row were skipped, the last at step {} (loss or gradient is not "
                            "finite). {}",
                            in_a_row_, step, remedy(step))};
        }
    }
    /// Checks the last step of the training. Errors: Error{numerics} if its update was skipped
    void check_end(std::int64_t step) const {
        if (in_a_row_ > 0) {
            throw Error{
                ErrorKind::numerics,
                fmt::format("training diverged at its end: the last {} updates up to step {} were skipped "
                            "(loss or gradient is not finite). {}",
                            in_a_row_, step, remedy(step))};
        }
    }

  private:
    std::string remedy(std::int64_t step) const {
        return fmt::format(
            "Lower optimizer.lr or lengthen schedule.warmup, and resume from a checkpoint before step {} "
            "(run.resume=FOLDER); or check the data of these steps.",
            step - in_a_row_ + 1);
    }

    std::int64_t skipped_;
    std::int64_t in_a_row_;
};

}  // namespace ziggurat::train
