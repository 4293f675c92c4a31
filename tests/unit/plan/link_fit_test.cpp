#include "plan/calibrate/link_fit.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "plan/cost/rates.hpp"

namespace ziggurat::plan {
namespace {

using schedule::OpKind;

constexpr std::int64_t sizes[] = {1024, 65536, 1 << 20, 64 << 20};

/// Returns samples of all kinds of calls with the planner's times on a link.
std::vector<LinkSample> samples_on(const spec::LinkRate& link, const GroupShape& shape) {
    Rates rates;
    rates.node_link = rates.network_link = link;
    std::vector<LinkSample> samples;
    for (const auto bytes : sizes) {
        for (const auto kind : {OpKind::all_gather, OpKind::reduce_scatter, OpKind::all_reduce}) {
            samples.push_back(
                collective_sample(kind, bytes, shape, collective_seconds(kind, bytes, shape, rates)));
        }
        samples.push_back(message_sample(bytes, message_seconds(bytes, shape.nodes == 1, rates)));
    }
    return samples;
}

TEST(LinkFit, FindsTheLinkThatMadeThePlannersTimes) {
    const spec::LinkRate link{.bandwidth = 7e9, .latency = 12e-6};
    for (const auto& shape : {GroupShape{2, 1, 2}, GroupShape{8, 1, 8}, GroupShape{5, 5, 1}}) {
        const auto samples = samples_on(link, shape);

        const auto found = fit_link(samples);

        EXPECT_NEAR(found.bandwidth / link.bandwidth, 1, 1e-6) << shape.members;
        EXPECT_NEAR(found.latency / link.latency, 1, 1e-6) << shape.members;
        EXPECT_EQ(found.sharers, 1);
        for (const auto& sample : samples) {
            EXPECT_NEAR(fitted_seconds(sample, found) / sample.seconds, 1, 1e-6);
        }
    }
}

TEST(LinkFit, CountsRatiosOfTimes) {
    // Long calls take twice as long as short ones predict: in seconds they outweigh all others.
    const std::vector<LinkSample> samples = {{1, 0, 10e-6}, {1, 1e4, 20e-6}, {1, 1e5, 110e-6}, {1, 1e9, 2}};

    const auto found = fit_link(samples);

    for (const auto& sample : samples) {
        EXPECT_GT(fitted_seconds(sample, found), 0.6 * sample.seconds);
        EXPECT_LT(fitted_seconds(sample, found), 1.7 * sample.seconds);
    }
}

TEST(LinkFit, NeverGivesTimesBelowZero) {
    const std::vector<LinkSample> without_latency = {{1, 1e6, 0.5e-3}, {1, 2e6, 2e-3}, {1, 4e6, 6e-3}};
    const std::vector<LinkSample> without_bytes = {{1, 1e3, 20e-6}, {1, 1e6, 11e-6}, {1, 2e6, 9e-6}};

    const auto fast = fit_link(without_latency);
    const auto wide = fit_link(without_bytes);

    EXPECT_GT(fast.latency, 0);
    EXPECT_GT(fast.bandwidth, 0);
    EXPECT_GT(wide.latency, 0);
    EXPECT_GT(wide.bandwidth, 1e12);
}

}  // namespace
}  // namespace ziggurat::plan
