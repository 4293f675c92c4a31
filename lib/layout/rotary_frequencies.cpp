#include "layout/rotary_frequencies.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ziggurat::layout {
namespace {

double scaled(double frequency, const spec::RopeScaling& scaling) {
    switch (scaling.kind) {
        case spec::RopeScalingKind::none:
            return frequency;
        case spec::RopeScalingKind::linear:
            return frequency / scaling.factor;
        case spec::RopeScalingKind::by_parts:
            break;
    }
    const double turns = static_cast<double>(scaling.original_max_seq) * frequency / (2 * std::numbers::pi);
    const double kept = std::clamp(
        (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor), 0.0, 1.0);
    return (1 - kept) * frequency / scaling.factor + kept * frequency;
}

}  // namespace

std::vector<double> rotary_frequencies(const spec::Model& model) {
    const auto pairs = model.rotary_channels() / 2;
    std::vector<double> frequencies;
    for (std::int64_t i = 0; i < pairs; ++i) {
        frequencies.push_back(
            scaled(std::pow(model.rope_theta, -static_cast<double>(i) / static_cast<double>(pairs)),
                   model.rope_scaling));
    }
    return frequencies;
}

}  // namespace ziggurat::layout
