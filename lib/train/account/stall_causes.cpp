#include "train/account/stall_causes.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "train/account/accounting.hpp"

namespace ziggurat::train {

int StallCauses::cause(Stall lane, std::string name) {
    const auto at =
        std::ranges::find_if(sums_, [&](const Sum& sum) { return sum.lane == lane && sum.name == name; });
    if (at != sums_.end()) {
        return static_cast<int>(at - sums_.begin());
    }
    sums_.push_back({.lane = lane, .name = std::move(name)});
    return static_cast<int>(sums_.size()) - 1;
}

void StallCauses::begin_step() noexcept {
    const bool are_excluded = steps_++ == TimeAccounting::excluded_steps;
    for (auto& sum : sums_) {
        sum.step_seconds = 0;
        if (are_excluded) {
            sum.excluded_calls = sum.calls;
            sum.excluded_seconds = sum.seconds;
        }
    }
}

void StallCauses::add(int cause, double seconds) noexcept {
    auto& sum = sums_[cause];
    ++sum.calls;
    sum.seconds += seconds;
    sum.step_seconds += seconds;
}

void StallCauses::name_in(StepReport& report) const noexcept {
    EnumArray<Stall, double, num_stalls> longest{};
    for (const auto& sum : sums_) {
        if (sum.step_seconds > longest[sum.lane]) {
            longest[sum.lane] = sum.step_seconds;
            report.stall_cause[sum.lane] = sum.name;
        }
    }
}

std::vector<StallCause> StallCauses::longest(std::size_t max) const {
    std::vector<StallCause> made;
    for (int lane = 0; lane < num_stalls; ++lane) {
        std::vector<StallCause> of_lane;
        for (const auto& sum : sums_) {
            if (static_cast<int>(sum.lane) == lane && sum.seconds > sum.excluded_seconds) {
                of_lane.push_back({std::string{name_of(sum.lane)}, sum.name, sum.calls - sum.excluded_calls,
                                   sum.seconds - sum.excluded_seconds});
            }
        }
        std::ranges::stable_sort(of_lane, std::greater{}, &StallCause::seconds);
        of_lane.resize(std::min(of_lane.size(), max));
        made.insert(made.end(), of_lane.begin(), of_lane.end());
    }
    return made;
}

}  // namespace ziggurat::train
