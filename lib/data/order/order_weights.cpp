#include "data/order/order_weights.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/contract.hpp"

namespace ziggurat::data {
namespace {

double weight_at(const DataOrderState::Source& source, std::int64_t sample) {
    double weight = source.weight;
    for (const auto& change : source.changes) {
        weight = change.sample <= sample ? change.weight : weight;
    }
    return weight;
}

std::vector<double> weights_at(const DataOrderState& order, std::int64_t sample) {
    std::vector<double> weights;
    for (const auto& source : order.sources) {
        weights.push_back(weight_at(source, sample));
    }
    return weights;
}

std::vector<EvenMix::Range> ranges_of(const DataOrderState& order) {
    std::vector<EvenMix::Range> ranges{{0, weights_at(order, order.first_sample)}};
    for (const std::int64_t sample : change_samples(order)) {
        ranges.push_back({sample - order.first_sample, weights_at(order, sample)});
    }
    return ranges;
}

EvenMix::MixPosition reached_of(const DataOrderState& order) {
    EvenMix::MixPosition reached{.samples = order.reached_sample - order.first_sample};
    for (const auto& source : order.sources) {
        reached.counts.push_back(source.reached);
    }
    return reached;
}

bool is_valid(double weight) {
    return weight >= 0 && std::isfinite(weight);
}

}  // namespace

std::vector<double> shares_at(const DataOrderState& order, std::int64_t sample) {
    auto shares = weights_at(order, sample);
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    for (auto& share : shares) {
        share /= sum;
    }
    return shares;
}

std::vector<std::int64_t> change_samples(const DataOrderState& order) {
    std::vector<std::int64_t> samples;
    for (const auto& source : order.sources) {
        for (const auto& change : source.changes) {
            samples.push_back(change.sample);
        }
    }
    std::ranges::sort(samples);
    const auto repeated = std::ranges::unique(samples);
    samples.erase(repeated.begin(), repeated.end());
    return samples;
}

void shift_changes(DataOrderState& order, std::int64_t after, std::int64_t samples) {
    for (auto& source : order.sources) {
        for (auto& change : source.changes) {
            change.sample += change.sample > after ? samples : 0;
        }
    }
}

void begin_at(DataOrderState& order, std::int64_t sample) {
    for (auto& source : order.sources) {
        source.weight = weight_at(source, sample);
        std::erase_if(source.changes,
                      [&](const DataOrderState::Change& change) { return change.sample <= sample; });
        source.reached = 0;
    }
    order.first_sample = order.reached_sample = sample;
}

DataOrderState reached(DataOrderState order, std::int64_t sample, const std::vector<std::int64_t>& counts) {
    ZG_EXPECTS(counts.size() == order.sources.size() && sample >= order.reached_sample);
    if (order.mix == MixRule::even) {
        order.reached_sample = sample;
        for (std::size_t s = 0; s < counts.size(); ++s) {
            order.sources[s].reached = counts[s];
        }
    }
    return order;
}

bool has_valid_mix(const DataOrderState& order) {
    bool is_right = order.reached_sample >= order.first_sample;
    for (const auto& source : order.sources) {
        std::int64_t last = order.first_sample;
        is_right = is_right && is_valid(source.weight) && source.earlier >= 0 && source.reached >= 0;
        for (const auto& change : source.changes) {
            is_right = is_right && is_valid(change.weight) && change.sample > last;
            last = change.sample;
        }
    }
    if (!is_right) {
        return false;
    }
    const auto ranges = ranges_of(order);
    for (const auto& range : ranges) {
        const double sum = std::accumulate(range.weights.begin(), range.weights.end(), 0.0);
        is_right = is_right && sum > 0 && std::isfinite(sum);
    }
    if (order.mix == MixRule::nested) {
        return is_right && ranges.size() == 1 && order.reached_sample == order.first_sample;
    }
    return is_right && EvenMix::can_reach(ranges, reached_of(order));
}

std::unique_ptr<const SourceMix> make_mix(const DataOrderState& order) {
    if (order.mix == MixRule::nested || order.sources.size() == 1) {
        ZG_EXPECTS(order.sources.size() == 1 || change_samples(order).empty());
        return std::make_unique<NestedMix>(weights_at(order, order.first_sample));
    }
    return std::make_unique<EvenMix>(ranges_of(order), reached_of(order));
}

}  // namespace ziggurat::data
