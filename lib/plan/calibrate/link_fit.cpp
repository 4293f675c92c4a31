#include "plan/calibrate/link_fit.hpp"

#include <algorithm>
#include <limits>

#include "base/contract.hpp"
#include "plan/cost/rates.hpp"

namespace ziggurat::plan {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Returns rates with `link` between all ranks.
Rates rates_with(const spec::LinkRate& link) {
    Rates rates;
    rates.node_link = rates.network_link = link;
    return rates;
}

const Rates& only_latency() {
    static const auto rates = rates_with({.bandwidth = infinity, .latency = 1});
    return rates;
}

const Rates& only_bytes() {
    static const auto rates = rates_with({.bandwidth = 1, .latency = 0});
    return rates;
}

/// Lowest latency and inverse bandwidth of a fit: times never become 0.
constexpr double min_latency = 1e-9;
constexpr double min_seconds_of_byte = 1e-15;

}  // namespace

LinkSample collective_sample(schedule::OpKind kind,
                             std::int64_t bytes,
                             const GroupShape& shape,
                             double seconds) {
    ZG_EXPECTS(shape.nodes == 1 || shape.nodes == shape.members);
    return {.latencies = collective_seconds(kind, bytes, shape, only_latency()),
            .bytes = collective_seconds(kind, bytes, shape, only_bytes()),
            .seconds = seconds};
}

LinkSample message_sample(std::int64_t bytes, double seconds) {
    return {.latencies = message_seconds(bytes, true, only_latency()),
            .bytes = message_seconds(bytes, true, only_bytes()),
            .seconds = seconds};
}

double fitted_seconds(const LinkSample& sample, const spec::LinkRate& link) {
    return sample.latencies * link.latency + sample.bytes / link.bandwidth;
}

spec::LinkRate fit_link(std::span<const LinkSample> samples) {
    ZG_EXPECTS(!samples.empty());
    // Normal equations of (latencies x latency + bytes x seconds_of_byte) / seconds = 1.
    double ll = 0, lb = 0, bb = 0, l = 0, b = 0;
    for (const auto& sample : samples) {
        ZG_EXPECTS(sample.seconds > 0);
        const double latencies = sample.latencies / sample.seconds;
        const double bytes = sample.bytes / sample.seconds;
        ll += latencies * latencies;
        lb += latencies * bytes;
        bb += bytes * bytes;
        l += latencies;
        b += bytes;
    }
    const double determinant = ll * bb - lb * lb;
    ZG_EXPECTS(determinant > 0);
    double latency = (l * bb - b * lb) / determinant;
    double seconds_of_byte = (b * ll - l * lb) / determinant;
    if (latency < min_latency) {
        latency = min_latency;
        seconds_of_byte = b / bb;
    } else if (seconds_of_byte < min_seconds_of_byte) {
        seconds_of_byte = min_seconds_of_byte;
        latency = l / ll;
    }
    return {.bandwidth = 1 / seconds_of_byte, .latency = latency};
}

}  // namespace ziggurat::plan
