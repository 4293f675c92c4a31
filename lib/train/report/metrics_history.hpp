/// metrics.jsonl of a run that goes on from a checkpoint: what came after it is cut off, and kept.
#pragma once

#include <cstdint>
#include <string>

namespace ziggurat::train {

/// Lines that were cut off, and steps without a line.
struct MetricsCut {
    std::int64_t lines = 0;
    std::int64_t last_step = 0;  ///< that they tell of, or the one that the run goes on after
    std::string kept_in;         ///< the path of `metrics.cut-<n>.jsonl`; empty when nothing was cut
    /// Steps up to the one that the run goes on after without a row: somebody has cut them, or a machine that
    /// lost power had not written them yet. As `3 to 5, 8`; empty when none is missing.
    std::string missing_steps;
};

/// Cuts `<folder>/metrics.jsonl` before the first line that tells of a step after `step`, and before one that
/// is none of ours or not whole. Events of the run as a whole stay: ends, crashes, spikes, roll-backs,
/// warnings. The tail becomes `<folder>/metrics.cut-<n>.jsonl` with the lowest free n, complete before
/// anything is cut. A file that is not there stays so. Collective: local.
///
/// Errors: Error{resource}, also when it is no regular file
MetricsCut cut_metrics(const std::string& folder, std::int64_t step);

}  // namespace ziggurat::train
