/// The line that a person follows while a run trains.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "train/account/spike.hpp"
#include "train/account/step_report.hpp"
#include "train/report/step_columns.hpp"
#include "train/report/styled_text.hpp"

namespace ziggurat::train {

/// A line as a terminal shows it, and as it is written where nobody watches, which may both be empty: nothing
/// to say there. Valid until the next call.
struct Lines {
    const StyledText& shown;
    std::string_view logged;
};

/// Turns step reports into lines, `|` between the columns, `step` at their start (StepColumns).
///
/// Loss and seconds are means since the last line, stalls are shares of that time, lr and norm are the last
/// step's. No allocation after the construction but in explanation(). Collective: local.
class StepLine {
  public:
    explicit StepLine(const StepLineFacts& facts);

    /// Every step, before line() and live().
    void add(const StepReport& report);

    /// The line for the steps added since the last one, for a terminal of so many columns; 0: not known.
    ///
    /// \param now_s  since 1970, UTC, for StepLineFacts::tells_time
    Lines line(int columns, double now_s = 0);
    /// The heading of the columns when it is due, which is before the first line and every 50 lines.
    std::optional<Lines> heading(int columns);
    /// The meaning of the short names of lanes, once: under the first heading that has their column.
    std::optional<Lines> explanation(int columns);
    /// One short line for a terminal: where the run is, how fast, and when it ends.
    std::string_view live();

    /// Seconds that one step takes, without the first two; 0 before any is known.
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
    std::int64_t window_losses_ = 0;  ///< steps that had one
    std::int64_t steps_seen_ = 0;
    double seconds_per_step_ = 0;
    std::int64_t lines_ = 0;
    int num_tiers_ = 1;  ///< never fewer than in a line before
    LossSpike spike_;
    bool shows_stalls_ = false;  ///< the latest heading
    bool is_explained_on_screen_ = false, is_explained_in_log_ = false;
    StyledText shown_, logged_;  ///< reused
    std::string live_;           ///< reused
};

}  // namespace ziggurat::train
