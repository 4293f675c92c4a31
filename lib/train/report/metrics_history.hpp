/// metrics.jsonl of a resumed run: lines after the checkpoint are moved to another file.
#pragma once

#include <cstdint>
#include <string>

namespace ziggurat::train {

/// Lines that were cut off, and steps without a row.
struct MetricsCut {
    std::int64_t lines = 0;
    std::int64_t last_step = 0;  ///< last step of these lines; else the step after which the run resumes
    std::string kept_in;         ///< path of `metrics.cut-<n>.jsonl`; empty if no line was cut
    /// Steps up to the resumed step that have no row, such as `3 to 5, 8`; empty if all have one.
    ///
    /// The user has deleted these rows, or a machine that lost power had not written them yet.
    std::string missing_steps;
};

/// Cuts `<folder>/metrics.jsonl` before the first line of a step after `step`.
///
/// Also cuts before a line that Ziggurat did not write, and before an incomplete line. Events of the whole
/// run stay: ends, crashes, spikes, rollbacks, warnings. The tail becomes `<folder>/metrics.cut-<n>.jsonl`
/// with the lowest free n; it is complete before metrics.jsonl is cut. Does nothing if metrics.jsonl does not
/// exist.
/// Collective: local.
///
/// Errors: Error{resource}, also if it is not a regular file
MetricsCut cut_metrics(const std::string& folder, std::int64_t step);

}  // namespace ziggurat::train
