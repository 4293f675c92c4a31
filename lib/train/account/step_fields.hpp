/// Fields of a step in metrics.jsonl that can be nonzero in a run.
#pragma once

#include <array>
#include <cstddef>

#include "schedule/step_program.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "train/account/step_report.hpp"

namespace ziggurat::train {

/// Numbers of a step that can be nonzero in this run.
///
/// The other numbers are omitted from all steps of the run, so that all its steps have the same fields.
struct StepFields {
    std::array<bool, num_stalls> stalls = all<num_stalls>();
    std::array<bool, schedule::num_purposes> sent = all<schedule::num_purposes>();
    std::array<bool, schedule::num_links> moved = all<schedule::num_links>();
    bool host = true, nvme = true;  ///< bytes in these tiers; see holds_more_than_control

  private:
    template <std::size_t n>
    static constexpr std::array<bool, n> all() {
        std::array<bool, n> every{};
        every.fill(true);
        return every;
    }
};

/// Returns true if a program keeps data other than control values on the host.
///
/// Every run keeps a few KiB of control values there. They do not show where the run keeps its state.
bool holds_more_than_control(const schedule::Program& program);

}  // namespace ziggurat::train
