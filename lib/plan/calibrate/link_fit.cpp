#include "plan/calibrate/link_fit.hpp"

#include <cmath>
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

// Bounds of the bytes that a link moves during its latency.
constexpr double min_ratio = 1e-3;
constexpr double max_ratio = 1e12;
constexpr int search_steps = 200;

/// A link, and its sum of squared logarithms of fitted over measured time.
struct LinkFit {
    spec::LinkRate link;
    double sum = 0;
};

/// Returns the best link whose latency is the time of `bytes` bytes.
LinkFit fit_with_ratio(std::span<const LinkSample> samples, double bytes) {
    const auto log_error = [&](const LinkSample& sample, double seconds_of_byte) {
        return std::log((sample.latencies * bytes + sample.bytes) * seconds_of_byte / sample.seconds);
    };
    double mean = 0;
    for (const auto& sample : samples) {
        ZG_EXPECTS(sample.seconds > 0);
        mean += log_error(sample, 1) / static_cast<double>(samples.size());
    }
    const double seconds_of_byte = std::exp(-mean);
    LinkFit fit{.link = {.bandwidth = 1 / seconds_of_byte, .latency = bytes * seconds_of_byte}};
    for (const auto& sample : samples) {
        const double error = log_error(sample, seconds_of_byte);
        fit.sum += error * error;
    }
    return fit;
}

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
    const auto fit = [&](double log_ratio) { return fit_with_ratio(samples, std::exp(log_ratio)); };
    // The sum of squares has one minimum along the ratio of latency to the time of a byte: ternary search.
    double low = std::log(min_ratio), high = std::log(max_ratio);
    for (int step = 0; step < search_steps; ++step) {
        const double left = low + (high - low) / 3, right = high - (high - low) / 3;
        const bool is_left = fit(left).sum < fit(right).sum;
        (is_left ? high : low) = is_left ? right : left;
    }
    return fit((low + high) / 2).link;
}

}  // namespace ziggurat::plan
