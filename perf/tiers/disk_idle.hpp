/// Whether the disk of a node had nothing to do though it could have had.
#pragma once

#include <cstdint>

#include "train/step/node_times.hpp"

namespace ziggurat::perf {

/// Seconds between `begin_ns` and `end_ns` in which no rank of the node had a transfer under way and one of
/// them had one for which nothing was missing. Looks at the executions of `step`, the one before and the one
/// behind it, which the ranks have ended.
double idle_disk_seconds(const train::NodeTimes& times,
                         std::int64_t step,
                         std::int64_t begin_ns,
                         std::int64_t end_ns);

}  // namespace ziggurat::perf
