/// Fit of the latency and bandwidth of a link to measured times of collectives and messages.
#pragma once

#include <cstdint>
#include <span>

#include "plan/cost/collective_cost.hpp"
#include "spec/machine_spec.hpp"

namespace ziggurat::plan {

/// Measured time of a call that uses one link.
///
/// The planner's time of it is latencies x latency + bytes / bandwidth.
struct LinkSample {
    double latencies = 0;
    double bytes = 0;
    double seconds = 0;
};

/// Returns the sample of a collective between ranks of one node, or one rank on each of several nodes.
///
/// \param bytes  of the vector that all members have together
/// \pre shape.nodes is 1 or shape.members
LinkSample collective_sample(schedule::OpKind kind,
                             std::int64_t bytes,
                             const GroupShape& shape,
                             double seconds);

/// Returns the sample of a message.
LinkSample message_sample(std::int64_t bytes, double seconds);

/// Returns the seconds that the planner derives from `link`.
double fitted_seconds(const LinkSample& sample, const spec::LinkRate& link);

/// Returns the link with the minimum sum of squared logarithms of fitted over measured time.
///
/// \pre there are samples with and without many bytes; seconds are above 0
spec::LinkRate fit_link(std::span<const LinkSample> samples);

}  // namespace ziggurat::plan
