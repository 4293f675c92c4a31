/// Requests that ranks exchange at the end of a step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/enum_array.hpp"

namespace ziggurat::train {

/// Request or notification of one rank.
///
/// It is part of the step's small all-reduce. So it needs no communication of its own, and all ranks receive
/// it at the same step.
enum class StepRequest {
    stop_after_step,        ///< a first signal, a touch file, the time limit
    stop_after_microbatch,  ///< a second signal
    checkpoint,
    validate,
    report,       ///< print the time accounting so far
    save_ended,   ///< this rank has written its part of the running checkpoint
    save_failed,  ///< this rank cannot write its part
    slow_path     ///< this rank has a warning about a path of the NVMe tier
};
inline constexpr std::size_t num_step_requests = 8;

/// Number of ranks with each step_request; before the all-reduce, 0 or 1 each.
class StepRequests {
  public:
    std::int64_t& operator[](StepRequest step_request) noexcept { return counts_[step_request]; }
    std::int64_t operator[](StepRequest step_request) const noexcept { return counts_[step_request]; }
    EnumArray<StepRequest, std::int64_t, num_step_requests>& counts() noexcept { return counts_; }
    const EnumArray<StepRequest, std::int64_t, num_step_requests>& counts() const noexcept { return counts_; }

    /// Returns the highest stop level (stop_signals.hpp) that any rank requests.
    int stop_level() const noexcept {
        return (*this)[StepRequest::stop_after_microbatch] > 0 ? 2
               : (*this)[StepRequest::stop_after_step] > 0     ? 1
                                                               : 0;
    }
    void ask_to_stop(int level) noexcept {
        (*this)[StepRequest::stop_after_step] = level >= 1 ? 1 : 0;
        (*this)[StepRequest::stop_after_microbatch] = level >= 2 ? 1 : 0;
    }

  private:
    EnumArray<StepRequest, std::int64_t, num_step_requests> counts_{};
};

}  // namespace ziggurat::train
