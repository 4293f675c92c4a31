/// Causes of stalls of a rank's compute lane, by name.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "train/account/step_report.hpp"

namespace ziggurat::train {

/// Cause of waits of one rank's compute lane, summed over the counted steps.
struct StallCause {
    std::string lane;  ///< as in `stall_<lane>_s`
    std::string name;  ///< such as `all_gather of layer 3 parameters for backward over data`
    std::int64_t calls = 0;
    double seconds = 0;
};

/// Sums waits by cause, per step and over the run.
///
/// Collective: local. No allocation after the last cause(), except in longest().
class StallCauses {
  public:
    /// Returns a handle for add(): the same handle for the same lane and name.
    int cause(Stall lane, std::string name);

    /// Starts a step. Waits of the first TimeAccounting::excluded_steps steps count only if no more steps
    /// follow.
    void begin_step() noexcept;
    void add(int cause, double seconds) noexcept;
    /// Sets the longest wait of the step on each lane in `report`. The names live as long as this object.
    void name_in(StepReport& report) const noexcept;
    /// Returns the `max` longest waits of the run for each lane, lane by lane, longest first.
    std::vector<StallCause> longest(std::size_t max) const;

  private:
    struct Sum {
        Stall lane = data_stall;
        std::string name;
        std::int64_t calls = 0;
        double seconds = 0;
        double step_seconds = 0;
        std::int64_t excluded_calls = 0;
        double excluded_seconds = 0;
    };

    std::vector<Sum> sums_;
    std::int64_t steps_ = 0;
};

}  // namespace ziggurat::train
