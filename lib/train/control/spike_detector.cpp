#include "train/control/spike_detector.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/contract.hpp"

namespace ziggurat::train {
namespace {

constexpr double min_deviation = 1e-3;  ///< fraction of the mean

/// Removes all but the latest `max` values, and reserves capacity for one more.
void keep_latest(std::vector<double>& values, std::int64_t max) {
    if (std::ssize(values) > max) {
        values.erase(values.begin(), values.end() - max);
    }
    values.reserve(static_cast<std::size_t>(max) + 1);
}

}  // namespace

SpikeDetector::SpikeDetector(const spec::Spikes& spikes, checkpoint::RecentSteps recent) : spikes_{spikes} {
    if (spikes_.action == spec::SpikeAction::off) {
        return;
    }
    recent_ = std::move(recent);
    keep_latest(recent_.losses, spikes_.window);
    keep_latest(recent_.grad_norms, spikes_.window);
}

bool SpikeDetector::is_full() const {
    return spikes_.action != spec::SpikeAction::off && std::ssize(recent_.losses) >= spikes_.window;
}

SpikeDetector::Level SpikeDetector::level_of(std::span<const double> values) {
    double sum = 0;
    for (const double value : values) {
        sum += value;
    }
    const auto count = static_cast<double>(values.size());
    const double mean = sum / count;
    double squares = 0;
    for (const double value : values) {
        squares += (value - mean) * (value - mean);
    }
    return {mean, std::max(std::sqrt(squares / count), min_deviation * std::fabs(mean))};
}

SpikeLimits SpikeDetector::limits(std::int64_t targets) const {
    if (!is_full()) {
        return {};
    }
    const auto limit_of = [this](std::span<const double> values) {
        const auto level = level_of(values);
        return level.mean + spikes_.z * level.deviation;
    };
    return {.loss_sum = limit_of(recent_.losses) * static_cast<double>(targets),
            .grad_norm = limit_of(recent_.grad_norms),
            .skips = spikes_.action != spec::SpikeAction::warn};
}

SpikeScores SpikeDetector::scores(double loss, double grad_norm) const {
    if (!is_full()) {
        return {};
    }
    const auto score_of = [](double value, std::span<const double> values) {
        const auto level = level_of(values);
        return level.deviation > 0 ? (value - level.mean) / level.deviation : 0.0;
    };
    return {score_of(loss, recent_.losses), score_of(grad_norm, recent_.grad_norms)};
}

void SpikeDetector::note(double loss, double grad_norm, bool is_spike) {
    ZG_EXPECTS(std::isfinite(loss) && std::isfinite(grad_norm));
    if (spikes_.action == spec::SpikeAction::off) {
        return;
    }
    if (is_spike) {
        if (++recent_.spikes_in_a_row < max_in_a_row) {
            return;
        }
        recent_.losses.clear();
        recent_.grad_norms.clear();
    }
    recent_.spikes_in_a_row = 0;
    recent_.losses.push_back(loss);
    recent_.grad_norms.push_back(grad_norm);
    keep_latest(recent_.losses, spikes_.window);
    keep_latest(recent_.grad_norms, spikes_.window);
}

}  // namespace ziggurat::train
