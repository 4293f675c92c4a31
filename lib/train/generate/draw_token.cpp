#include "train/generate/draw_token.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ziggurat::train {
namespace {

/// Sets the weights of tokens that top-k and top-p exclude to 0.
void leave_out(std::span<double> weights, const Drawing& drawing) {
    std::vector<std::int32_t> order(weights.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](std::int32_t a, std::int32_t b) { return weights[a] > weights[b]; });
    auto kept = order.size();
    if (drawing.top_k > 0) {
        kept = std::min(kept, static_cast<std::size_t>(drawing.top_k));
    }
    if (drawing.top_p < 1) {
        double total = 0;
        for (std::size_t i = 0; i < kept; ++i) {
            total += weights[order[i]];
        }
        double sum = 0;
        for (std::size_t i = 0; i < kept; ++i) {
            sum += weights[order[i]];
            if (sum >= drawing.top_p * total) {
                kept = i + 1;
            }
        }
    }
    for (std::size_t i = kept; i < order.size(); ++i) {
        weights[order[i]] = 0;
    }
}

}  // namespace

std::int32_t draw_token(std::span<const float> logits,
                        const Drawing& drawing,
                        double random,
                        std::vector<double>& weights) {
    const auto best = std::ranges::max_element(logits);
    const auto most_likely = static_cast<std::int32_t>(best - logits.begin());
    if (drawing.temperature <= 0) {
        return most_likely;
    }
    const auto all = std::span{weights}.first(logits.size());
    std::ranges::transform(logits, all.begin(), [&](float logit) {
        return std::exp((static_cast<double>(logit) - static_cast<double>(*best)) / drawing.temperature);
    });
    if (drawing.top_k > 0 || drawing.top_p < 1) {
        leave_out(all, drawing);
    }
    double left = std::accumulate(all.begin(), all.end(), 0.0) * random;
    for (std::size_t i = 0; i < all.size(); ++i) {
        left -= all[i];
        if (left <= 0 && all[i] > 0) {
            return static_cast<std::int32_t>(i);
        }
    }
    return most_likely;
}

}  // namespace ziggurat::train
