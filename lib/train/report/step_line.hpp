/// Step lines, which show the progress of a run to the user.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "train/account/spike.hpp"
#include "train/account/step_report.hpp"
#include "train/console/styled_text.hpp"
#include "train/report/step_columns.hpp"

namespace ziggurat::train {

/// Text for a terminal, and text for logs and pipes. Each may be empty: nothing to print.
///
/// Valid until the next call.
struct Lines {
    const StyledText& shown;
    std::string_view logged;
};

/// Converts step reports to lines with `|` between the columns (StepColumns).
///
/// Loss and seconds are means since the last line. Stalls are fractions of that time. Learning rate and norm
/// are those of the last step. No allocation after construction except in explanation(). Collective: local.
class StepLine {
  public:
    explicit StepLine(const StepLineFacts& facts);

    /// Adds a step. Call for every step, before line() and live().
    void add(const StepReport& report);

    /// Returns the line for the steps since the last line, for a terminal of `columns`; 0: unknown.
    ///
    /// \param now_s  seconds since 1970, UTC, for StepLineFacts::reports_time
    Lines line(int columns, double now_s = 0);
    /// Returns the heading of the columns if it is due: before the first line and every 50 lines.
    std::optional<Lines> heading(int columns);
    /// Returns the legend of the lanes' short names, once: under the first heading with their column.
    std::optional<Lines> explanation(int columns);
    /// Returns a short live line for a terminal: step, loss, speed and time left.
    std::string_view live();

    /// Returns the seconds of one step, without the first two steps; 0 if unknown.
    double seconds_per_step() const noexcept { return seconds_per_step_; }

  private:
    StepNumbers numbers();
    Lines fitted(int columns);
    double seconds_left() const;

    StepLineFacts facts_;
    StepColumns columns_;
    StepReport window_;  ///< sums since the last line
    StepReport last_;
    std::int64_t window_steps_ = 0;
    std::int64_t window_tokens_ = 0;
    double window_loss_ = 0;
    RewardMeans window_rewards_;      ///< sums of means
    std::int64_t window_losses_ = 0;  ///< number of steps with a loss
    std::int64_t window_targets_ = 0;
    std::int64_t steps_seen_ = 0;
    double seconds_per_step_ = 0;
    std::int64_t lines_ = 0;
    int num_tiers_ = 1;  ///< never fewer than in an earlier line
    LossSpike spike_;
    bool shows_stalls_ = false;  ///< of the latest heading
    bool is_explained_on_screen_ = false, is_explained_in_log_ = false;
    StyledText shown_, logged_;  ///< reused between calls
    std::string live_;           ///< reused between calls
};

}  // namespace ziggurat::train
