/// Goodput of a run, as text of `check`.
#pragma once

#include <optional>
#include <string>

#include "deck/messages/diagnostics.hpp"
#include "plan/run_goodput.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// Returns one line: productive time, failures, best checkpoint interval, tokens per day and price.
///
/// Empty if the machine file gives no mean time to failure. If it gives no rate for checkpoints, the line
/// names the missing keys; if the time of a step is unknown, the line refers to it.
std::string goodput_text(const std::optional<plan::RunGoodput>& goodput,
                         const spec::RunSpec& run,
                         const spec::MachineSpec& machine);

/// Warns if checkpoint.every of the deck makes the run over 1 % longer than the best interval would.
void warn_of_checkpoint_interval(const std::optional<plan::RunGoodput>& goodput,
                                 const spec::RunSpec& run,
                                 deck::Diagnostics& found);

}  // namespace ziggurat::app
