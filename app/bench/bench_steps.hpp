/// Measurements of bench gemm, comm and optimizer, which bench all does one after the other.
#pragma once

#include <string>

#include "app/bench/bench_ranks.hpp"

namespace ziggurat::app {

/// Amount of work and of output of a measurement.
struct BenchDetail {
    bool is_brief = false;    ///< fewer and smaller measurements
    bool has_tables = false;  ///< prints every measured time next to the fitted one
};

/// Measures products, attention and memory-bound kernels, and sets their rates.
///
/// Collective: over the ranks
void measure_kernels(BenchRanks& ranks, const BenchDetail& detail);

/// Errors: Error{resource} if the ranks are not spread evenly over nodes
void check_links(const BenchRanks& ranks);

/// Measures links between ranks, and sets their latency and bandwidth. Collective: over the ranks
///
/// \pre check_links() has returned, and there are at least two ranks
void measure_links(BenchRanks& ranks, const BenchDetail& detail);

/// Measures updates, norms and copies, and sets their rates. Collective: over the ranks
void measure_updates(BenchRanks& ranks, const BenchDetail& detail);

/// Returns a rate rounded as machine files store it, in MB/s.
double stored_rate(double bytes_per_second);
/// Returns a duration rounded as machine files store it, in ns.
double stored_duration(double seconds);
/// Returns a rate for output: `12.3 GB/s`.
std::string rate_text(double bytes_per_second);

}  // namespace ziggurat::app
