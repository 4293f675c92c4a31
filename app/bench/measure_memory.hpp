/// Measurement of memory: copies, updates of parameters, and norms of gradients.
#pragma once

#include "app/bench/bench_ranks.hpp"

namespace ziggurat::app {

/// Returns the bytes/s that copies within the memory of a rank's device read and write.
///
/// All ranks copy; the result is that of the slowest.
///
/// Collective: over the ranks
double measure_device_bandwidth(BenchRanks& ranks, bool is_brief);

/// Rates of one rank's optimizer step; those of the slowest rank.
struct OptimizerRates {
    double updates = 0;         ///< parameters/s that the host's cores update with AdamW
    double squares = 0;         ///< bytes/s of gradients whose squares the device sums
    double host_bandwidth = 0;  ///< bytes/s that copies within host memory read and write
    double to_device = 0;       ///< bytes/s of copies from host memory to the device tier
    double to_host = 0;         ///< bytes/s of copies from the device tier to host memory
};

/// Measures updates, norms of gradients and copies within and between tiers. Collective: over the ranks
OptimizerRates measure_optimizer(BenchRanks& ranks, bool is_brief);

}  // namespace ziggurat::app
