#include "layout/rotary_frequencies.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/contract.hpp"

namespace ziggurat::layout {
namespace {

using Kind = spec::RopeScalingKind;

/// Returns a weighted mean: the frequency for `kept` 1, the one divided by the factor for 0.
double interpolated(double frequency, double factor, double kept) {
    return (1 - kept) * frequency / factor + kept * frequency;
}

double scaled_by_period(double frequency, const spec::RopeScaling& scaling) {
    const double turns = static_cast<double>(scaling.original_max_seq) * frequency / (2 * std::numbers::pi);
    const double kept = std::clamp(
        (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor), 0.0, 1.0);
    return interpolated(frequency, scaling.factor, kept);
}

/// Range of pairs over which yarn goes from unscaled to fully scaled angles.
struct Ramp {
    double first = 0;
    double last = 0;

    double share(std::int64_t pair) const {
        return std::clamp((static_cast<double>(pair) - first) / (last - first), 0.0, 1.0);
    }
};

Ramp yarn_ramp(const spec::Model& model) {
    const auto& scaling = model.rope_scaling;
    const auto channels = static_cast<double>(model.rotary_channels());
    // The number of a pair, as a real number, that turns `turns` times in original_max_seq tokens.
    const auto pair_of = [&](double turns) {
        const double tokens_per_radian =
            static_cast<double>(scaling.original_max_seq) / (2 * std::numbers::pi * turns);
        return channels * std::log(tokens_per_radian) / (2 * std::log(model.rope_theta));
    };
    Ramp ramp{pair_of(scaling.beta_fast), pair_of(scaling.beta_slow)};
    if (scaling.truncate) {
        ramp = {std::floor(ramp.first), std::ceil(ramp.last)};
    }
    ramp.first = std::max(ramp.first, 0.0);
    ramp.last = std::min(ramp.last, channels - 1);  // channels and not pairs, as in transformers
    if (ramp.first == ramp.last) {
        ramp.last += 0.001;
    }
    return ramp;
}

}  // namespace

std::vector<double> rotary_frequencies(const spec::Model& model, std::int64_t seq) {
    const auto& scaling = model.rope_scaling;
    const auto pairs = model.rotary_channels() / 2;
    const auto& factors = seq > scaling.original_max_seq ? scaling.long_factors : scaling.short_factors;
    ZG_EXPECTS(scaling.kind != Kind::longrope || std::ssize(factors) == pairs);
    const auto ramp = scaling.kind == Kind::yarn ? yarn_ramp(model) : Ramp{};
    std::vector<double> frequencies;
    for (std::int64_t i = 0; i < pairs; ++i) {
        const double plain = std::pow(model.rope_theta, -static_cast<double>(i) / static_cast<double>(pairs));
        switch (scaling.kind) {
            case Kind::none:
            case Kind::dynamic:  // up to max_seq
                frequencies.push_back(plain);
                break;
            case Kind::linear:
                frequencies.push_back(plain / scaling.factor);
                break;
            case Kind::by_parts:
                frequencies.push_back(scaled_by_period(plain, scaling));
                break;
            case Kind::yarn:
                frequencies.push_back(interpolated(plain, scaling.factor, 1 - ramp.share(i)));
                break;
            case Kind::longrope:
                frequencies.push_back(plain / factors[static_cast<std::size_t>(i)]);
                break;
        }
    }
    return frequencies;
}

spec::Model with_window_positions(spec::Model model) {
    ZG_EXPECTS(model.window_rope_theta > 0);
    model.rope_theta = model.window_rope_theta;
    model.rope_scaling = {};
    return model;
}

double attention_growth(double factor, double share) {
    return factor <= 1 ? 1 : 0.1 * share * std::log(factor) + 1;
}

double usual_attention_factor(const spec::RopeScaling& scaling) {
    if (scaling.kind == Kind::yarn) {
        return attention_growth(scaling.factor);
    }
    if (scaling.kind == Kind::longrope && scaling.factor > 1) {
        return std::sqrt(1 +
                         std::log(scaling.factor) / std::log(static_cast<double>(scaling.original_max_seq)));
    }
    return 1;
}

}  // namespace ziggurat::layout
