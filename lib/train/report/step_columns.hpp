/// Columns of the step line, and the choice of those that fit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "train/account/step_report.hpp"
#include "train/report/styled_text.hpp"

namespace ziggurat::train {

/// What is known of a run at its start.
struct StepLineFacts {
    std::int64_t total_steps = 0;                ///< the last step's number
    std::int64_t ranks = 1;                      ///< 1: no column for the speed of each
    std::array<std::int64_t, 3> budget_bytes{};  ///< of a rank, by spec::Tier; 0: not shown
    std::array<bool, num_stalls> can_stall{};    ///< which of them may be more than 0
    bool tells_host = true;                      ///< whether more than control values lies there
    bool tells_mfu = false;                      ///< whether the peak is known
    bool tells_time = false;                     ///< of day, on a terminal with room for it
};

/// Contents of one line.
struct StepNumbers {
    std::int64_t step = 0;
    std::optional<double> loss;  ///< nothing: no step had targets
    bool is_spike = false;
    double lr = 0;
    double tok_s = 0;
    double mfu = 0;
    double left_s = 0;
    double step_s = 0;
    std::array<double, num_stalls> stall_share{};  ///< of the time
    double grad_norm = 0;
    std::array<std::int64_t, 3> used_bytes{};  ///< peaks, by spec::Tier
    int num_tiers = 1;                         ///< those that hold something in this run
    double now_s = 0;                          ///< since 1970, UTC
};

/// The cells of one line from left to right, padded so that those of all lines stand below each other.
///
/// The order is fixed, and a terminal shows as many as it has room for: step, loss, learning rate, speed,
/// time left (80 columns), model FLOPs utilisation, time per step (100), the lane that was waited for longest
/// (120), gradient norm, speed of each rank, memory by tier (200); with room to spare for all of them, the
/// lane waited for next too, and then, before the memory, the time of day (250). Where not even the first
/// five fit, these go, in this order: the number of steps, the rate, the speed, the time left. Files and
/// pipes get all of them but the time of day, which metrics.jsonl has.
///
/// No allocation after the construction. Collective: local
class StepColumns {
  public:
    explicit StepColumns(const StepLineFacts& facts);

    void fill(const StepNumbers& numbers);
    void fill_heading();

    /// The line in at most `columns`; 0: of any length. False when the waits have no room in it.
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
    Cell step_, step_alone_, loss_, rate_, speed_, time_left_;  // always, if there is room
    Cell mfu_, per_step_, stalls_, second_stall_, norm_, per_rank_, time_, memory_,
        memory_alone_;  // in wide lines
};

}  // namespace ziggurat::train
