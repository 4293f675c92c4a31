/// The lines that a person follows while a run trains.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "train/step_report.hpp"

namespace ziggurat::train {

/// Turns step reports into lines of at most 160 columns (up to 999,999 steps), `|` between the columns,
/// `step` at their start.
///
/// Loss and seconds are means since the last line, stalls are shares of that time, lr and norm are the last
/// step's. No allocation after the construction. Collective: local.
class StepLine {
  public:
    /// \param total_steps   the last step's number
    /// \param budget_bytes  of a rank, by spec::Tier; 0: not shown
    explicit StepLine(std::int64_t total_steps, const std::array<std::int64_t, 3>& budget_bytes = {});

    /// Every step, before line() and live().
    void add(const StepReport& report);

    /// The line for the steps added since the last one, without a newline; valid until the next call here.
    std::string_view line();
    /// The heading of the columns when it is due, which is before the first line and every 50 lines.
    std::optional<std::string_view> heading();
    /// One short line for a terminal: where the run is, how fast, and when it ends.
    std::string_view live();

    /// Seconds that one step takes, without the first two; 0 before any is known.
    double seconds_per_step() const noexcept { return seconds_per_step_; }

  private:
    double eta_seconds() const;
    void append_stalls();
    void append_memory(std::string_view eta);

    std::int64_t total_steps_;
    int step_width_;
    std::array<std::int64_t, 3> budget_bytes_;
    StepReport window_;  ///< sums since the last line
    StepReport last_;
    std::int64_t window_steps_ = 0;
    std::int64_t window_tokens_ = 0;
    double window_loss_ = 0;
    std::int64_t window_finite_ = 0;
    std::int64_t steps_seen_ = 0;
    double seconds_per_step_ = 0;
    std::int64_t lines_ = 0;
    std::string text_;  ///< reused
};

/// `step 1251 SKIPPED: ...`: an update that was not applied.
std::string skipped_line(const StepReport& report);

/// `validate step 100/500 | loss ...`
std::string validation_line(const ValidationReport& report, std::int64_t total_steps);

/// A generated text as a block, safe to show whatever the model wrote.
std::string sample_block(std::int64_t step,
                         std::string_view prompt,
                         std::string_view continuation,
                         double temperature);

}  // namespace ziggurat::train
