#include "train/control/steps_in_flight.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "spec/weight_versions.hpp"

namespace ziggurat::train {
namespace {

/// Requests that need the whole state.
constexpr std::array of_whole_state = {StepRequest::checkpoint, StepRequest::validate, StepRequest::report};

}  // namespace

StepsInFlight::StepsInFlight(const spec::RunSpec& run, const schedule::PipelineFill& fill, std::int64_t step)
    : fill_{fill},
      has_flush_{!spec::has_no_flush(run.parallel)},
      to_outcome_{spec::steps_to_outcome(run)},
      stashes_{spec::weight_versions(run, 0).stashes()},
      begun_{step} {
    steps_.reserve(static_cast<std::size_t>(to_outcome_) + 1);
}

RunStep& StepsInFlight::begin() {
    return steps_.emplace_back();
}

RunStep StepsInFlight::end() {
    auto oldest = std::move(steps_.front());
    steps_.erase(steps_.begin());
    return oldest;
}

bool StepsInFlight::has_due() const {
    return std::ssize(steps_) > (is_drained() ? 0 : to_outcome_);
}

StepRequests StepsInFlight::due(const StepRequests& agreed, std::int64_t step) {
    auto due = agreed;
    if (has_flush_) {
        return due;
    }
    for (const auto request : of_whole_state) {
        waiting_[request] += agreed[request];
        due[request] = is_between_steps() ? std::exchange(waiting_[request], 0) : 0;
    }
    if (step <= fresh_reports_from_) {
        due[StepRequest::save_ended] = due[StepRequest::save_failed] = 0;
    }
    return due;
}

bool StepsInFlight::has_waiting() const {
    return std::ranges::any_of(of_whole_state, [&](auto request) { return waiting_[request] > 0; });
}

}  // namespace ziggurat::train
