/// Requests that ranks tell each other at the end of a step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ziggurat::train {

/// Something that one rank asks for or has to say. It travels with the step's small all-reduce, so it costs
/// no exchange of its own, and all ranks learn of it at the same step.
enum class StepRequest {
    stop_after_step,        ///< a first signal, a touch file, the time limit
    stop_after_microbatch,  ///< a second signal
    checkpoint,
    validate,
    report,       ///< the account so far
    save_ended,   ///< this rank has written its part of the checkpoint under way
    save_failed,  ///< this rank cannot write its part
    slow_path     ///< this rank has something to say of a path of the NVMe tier
};
inline constexpr std::size_t num_step_requests = 8;

/// By step_request: how many ranks have it. On one rank's way in, 0 or 1 each.
class StepRequests {
  public:
    std::int64_t& operator[](StepRequest step_request) noexcept {
        return counts_[static_cast<std::size_t>(step_request)];
    }
    std::int64_t operator[](StepRequest step_request) const noexcept {
        return counts_[static_cast<std::size_t>(step_request)];
    }
    std::array<std::int64_t, num_step_requests>& counts() noexcept { return counts_; }
    const std::array<std::int64_t, num_step_requests>& counts() const noexcept { return counts_; }

    /// The highest level of stop_signals.hpp that anybody asks for.
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
    std::array<std::int64_t, num_step_requests> counts_{};
};

}  // namespace ziggurat::train
