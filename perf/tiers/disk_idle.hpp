/// Time in which the disk of a node was idle although a transfer was ready.
#pragma once

#include <cstdint>

#include "train/step/node_times.hpp"

namespace ziggurat::perf {

/// Returns the seconds between `begin_ns` and `end_ns` in which the node's disk was idle without need.
///
/// During that time no rank of the node had a transfer in flight, although one of them had a
/// transfer whose dependencies were complete. Reads the executions of `step`, the one before and the one
/// after it, which the ranks must have finished.
double idle_disk_seconds(const train::NodeTimes& times,
                         std::int64_t step,
                         std::int64_t begin_ns,
                         std::int64_t end_ns);

}  // namespace ziggurat::perf
