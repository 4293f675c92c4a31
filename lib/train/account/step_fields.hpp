/// Fields of a step in metrics.jsonl: those that can become anything but 0 in a run.
#pragma once

#include <array>
#include <cstddef>

#include "schedule/step_program.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "train/account/step_report.hpp"

namespace ziggurat::train {

/// Numbers of a step that may become anything but 0 in this run. The others are left out of its steps, so
/// that all of these have the same fields.
struct StepFields {
    std::array<bool, num_stalls> stalls = all<num_stalls>();
    std::array<bool, schedule::num_purposes> sent = all<schedule::num_purposes>();
    std::array<bool, schedule::num_links> moved = all<schedule::num_links>();
    bool host = true, nvme = true;  ///< what lies there; see holds_more_than_control

  private:
    template <std::size_t n>
    static constexpr std::array<bool, n> all() {
        std::array<bool, n> every{};
        every.fill(true);
        return every;
    }
};

/// Whether a program keeps anything but control values on the host. Every run keeps those there, a few KiB:
/// they alone say nothing of how its state is spread.
bool holds_more_than_control(const schedule::Program& program);

}  // namespace ziggurat::train
