/// Columns of the step line, and the selection of columns that fit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "train/account/step_report.hpp"
#include "train/console/styled_text.hpp"

namespace ziggurat::train {

/// Facts of a run that are known at its start.
struct StepLineFacts {
    std::int64_t total_steps = 0;                    ///< number of the last step
    std::int64_t ranks = 1;                          ///< 1: no column for the speed of each rank
    spec::ByTier<std::int64_t> budget_bytes{};       ///< of a rank, by spec::Tier; 0: not shown
    EnumArray<Stall, bool, num_stalls> can_stall{};  ///< stalls that can be nonzero
    bool reports_host = true;                        ///< the host holds more than control values
    bool reports_mfu = false;                        ///< the peak is known
    bool reports_rewards = false;                    ///< the run has a preference objective
    bool reports_targets = false;                    ///< not all tokens count in the loss
    bool reports_time = false;                       ///< show the time of day, on a wide terminal
};

/// Values of one line.
struct StepNumbers {
    std::int64_t step = 0;
    std::optional<double> loss;  ///< nullopt: no step had target tokens
    bool is_spike = false;
    std::optional<RewardMeans> rewards = {};  ///< with a preference objective
    double targets = 0;                       ///< tokens of a step that count in the loss, or pairs
    double lr = 0;
    double tok_s = 0;
    double mfu = 0;
    double left_s = 0;
    double step_s = 0;
    EnumArray<Stall, double, num_stalls> stall_share{};  ///< fraction of the time
    double grad_norm = 0;
    spec::ByTier<std::int64_t> used_bytes{};  ///< peaks, by spec::Tier
    int num_tiers = 1;                        ///< tiers that hold data in this run
    double now_s = 0;                         ///< seconds since 1970, UTC
};

/// Cells of one line from left to right, padded so that the columns of all lines are aligned.
///
/// The order is fixed, and a terminal shows the columns that fit: step, loss, learning rate, speed, time left
/// (80 columns), tokens or pairs that count, reward margin and accuracy of a preference objective, model
/// FLOPs utilisation, time per step (100), the longest stall (120), gradient norm, speed of each rank, memory
/// by tier (200). If all of these fit, the second longest stall is shown too, and then the time of day,
/// before the memory (250). If the first five do not fit, these are omitted in this order: total number of
/// steps, learning rate, speed, time left. Files and pipes get all columns except the time of day, which
/// metrics.jsonl has.
///
/// No allocation after the construction. Collective: local
class StepColumns {
  public:
    explicit StepColumns(const StepLineFacts& facts);

    void fill(const StepNumbers& numbers);
    void fill_heading();

    /// Sets `line` to at most `columns`; 0: no limit. Returns false if the stalls do not fit.
    bool fit(int columns, StyledText& line) const;

  private:
    struct Cell {
        Cell() { text.reserve(64); }
        std::string text;
        Style style = Style::plain;
    };

    void fill_stalls(const StepNumbers& numbers);
    void fill_memory(const StepNumbers& numbers, bool with_budgets, std::string& text) const;

    StepLineFacts facts_;
    int step_width_;
    Cell step_, step_alone_, loss_, rate_, speed_, time_left_;  // always shown, if they fit
    Cell targets_, rewards_, mfu_, per_step_, stalls_, second_stall_, norm_, per_rank_, time_, memory_,
        memory_alone_;  // in wide lines
};

}  // namespace ziggurat::train
