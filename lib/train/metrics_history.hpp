/// metrics.jsonl of a run that goes on from a checkpoint: what came after it is cut off, and kept.
#pragma once

#include <cstdint>
#include <string>

namespace ziggurat::train {

/// What was cut off.
struct MetricsCut {
    std::int64_t lines = 0;
    std::string kept_in;  ///< the path of `metrics.cut-<n>.jsonl`; empty when nothing was cut
};

/// Cuts `<folder>/metrics.jsonl` before the first line that tells of a step after `step`, and before a last
/// line that is not whole. The tail becomes `<folder>/metrics.cut-<n>.jsonl` with the lowest free n, complete
/// before anything is cut. A file that is not there stays so. Collective: local.
///
/// Errors: Error{resource}
MetricsCut cut_metrics(const std::string& folder, std::int64_t step);

}  // namespace ziggurat::train
