/// Limit on updates skipped in a row.
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

    /// Of what a training that goes on has skipped: in all, and as its last steps.
    SkipLimit(std::int64_t skipped, std::int64_t in_a_row) : skipped_{skipped}, in_a_row_{in_a_row} {}

    /// \param is_spike  the step was finite: to leave its update out is no breakdown
    void note(bool is_skipped, bool is_spike = false) noexcept {
        skipped_ += is_skipped ? 1 : 0;
        in_a_row_ = is_skipped && !is_spike ? in_a_row_ + 1 : 0;
    }
    /// Since the training began.
    std::int64_t skipped() const noexcept { return skipped_; }
    /// As the last steps, for what was not finite; 0 when the last step was finite.
    std::int64_t in_a_row() const noexcept { return in_a_row_; }

    /// Errors: Error{numerics} when too many were skipped
    void check(std::int64_t step) const {
        if (in_a_row_ > most_in_a_row) {
            throw Error{
                ErrorKind::numerics,
                fmt::format("{} updates in a row were skipped, the last at step {} (loss or gradient is not "
                            "finite). {}",
                            in_a_row_, step, remedy(step))};
        }
    }
    /// After the last step of the training.
    /// Errors: Error{numerics} when it was skipped
    void check_end(std::int64_t step) const {
        if (in_a_row_ > 0) {
            throw Error{
                ErrorKind::numerics,
                fmt::format("the training broke down before its end: the last {} updates up to step {} were "
                            "skipped (loss or gradient is not finite). {}",
                            in_a_row_, step, remedy(step))};
        }
    }

  private:
    std::string remedy(std::int64_t step) const {
        return fmt::format(
            "Lower optimizer.lr or lengthen schedule.warmup and go on from a checkpoint before step {} "
            "(run.resume=FOLDER), or look at the data of these steps.",
            step - in_a_row_ + 1);
    }

    std::int64_t skipped_;
    std::int64_t in_a_row_;
};

}  // namespace ziggurat::train
