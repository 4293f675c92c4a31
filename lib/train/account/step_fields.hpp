/// Fields of a step in metrics.jsonl that can be nonzero in a run.
#pragma once

#include "base/enum_array.hpp"
#include "schedule/step_program.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "train/account/step_report.hpp"

namespace ziggurat::train {

/// Numbers of a step that can be nonzero in this run.
///
/// The other numbers are omitted from all steps of the run, so that all its steps have the same fields.
struct StepFields {
    EnumArray<Stall, bool, num_stalls> stalls = every<EnumArray<Stall, bool, num_stalls>>();
    EnumArray<schedule::Purpose, bool> sent = every<EnumArray<schedule::Purpose, bool>>();
    EnumArray<schedule::Link, bool> moved = every<EnumArray<schedule::Link, bool>>();
    bool host = true, nvme = true;  ///< bytes in these tiers; see holds_more_than_control

  private:
    template <class Fields>
    static constexpr Fields every() {
        Fields fields{};
        fields.fill(true);
        return fields;
    }
};

/// Returns true if a program keeps data other than control values on the host.
///
/// Every run keeps a few KiB of control values there. They do not show where the run keeps its state.
bool holds_more_than_control(const schedule::Program& program);

}  // namespace ziggurat::train
