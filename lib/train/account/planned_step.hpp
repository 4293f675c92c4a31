/// Planned time of a step, to compare measured steps with.
#pragma once

#include <string>

namespace ziggurat::train {

/// Times of a step at the rates of the machine.
struct PlannedStep {
    double seconds = 0;        ///< as planned; 0: not planned
    double bound_seconds = 0;  ///< lower bound: seconds of the busiest lane of any stage
    /// Planned time with all state on the device; 0: the run has it there, or no step was planned.
    double on_device_seconds = 0;
    std::string skip_reason;  ///< reason for which the step was not planned; empty if it was

    bool is_known() const noexcept { return seconds > 0; }
};

}  // namespace ziggurat::train
