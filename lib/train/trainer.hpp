/// Training run from the first step to the last, or to the step after which it is asked to stop.
#pragma once

#include "comm/context.hpp"
#include "device/device.hpp"
#include "spec/run_spec.hpp"
#include "train/console/console.hpp"
#include "train/control/stop_signals.hpp"
#include "train/report/run_context.hpp"

namespace ziggurat::train {

/// Trains according to `spec`. Rank 0 writes console, run directory, metrics and time accounting.
///
/// \param console  console of rank 0; a silent one on the other ranks
/// \returns the exit code: 0, or exit_code_of_stop() after an orderly stop
/// Collective: over `world`, which has spec.parallel.ranks ranks
/// Errors:     Error{resource} for memory and files; Error{deck} for data that cannot be trained on;
///             Error{numerics} if the loss stays non-finite; Error{communication}
int train(const spec::RunSpec& spec,
          const RunContext& context,
          const comm::Context& world,
          const device::RankDevices& devices,
          StopSignals& signals,
          Console& console);

}  // namespace ziggurat::train
