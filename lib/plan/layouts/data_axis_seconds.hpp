/// Lower bounds of the time of collectives over the data axis.
#pragma once

#include "plan/cost/rates.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Seconds that the collectives of a step over the data axis need at least.
///
/// Groups of different ranks work at the same time; the collectives of a group run one after the other.
/// Updated parameters are published after all sums of gradients.
struct DataAxisSeconds {
    double step = 0;  ///< of all collectives of a step
    double end = 0;   ///< of the sums after the backward of the last micro-batch, and of the publication
};

/// Returns the bounds for a rank with `parameters`, counted before they are sharded over the data axis.
///
/// \param leases  gathers of a parameter for one micro-batch, on average; at least 1
DataAxisSeconds data_axis_seconds(const spec::RunSpec& run,
                                  double parameters,
                                  double leases,
                                  const Rates& rates);

/// Returns the seconds in which a micro-batch adds its summed gradients to those of the step, at least.
double add_seconds(const spec::RunSpec& run, double parameters, const Rates& rates);

}  // namespace ziggurat::plan
