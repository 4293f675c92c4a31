#include "spec/source_weights.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace ziggurat::spec {

std::vector<double> weights_at(const Data& data, std::int64_t step) {
    std::vector<double> weights;
    for (const auto& source : data.train) {
        weights.push_back(source.weight);
        for (const auto& change : source.weight_changes) {
            weights.back() = change.step <= step ? change.weight : weights.back();
        }
    }
    return weights;
}

std::vector<std::int64_t> weight_steps(const Data& data) {
    std::set<std::int64_t> steps{0};
    for (const auto& source : data.train) {
        for (const auto& change : source.weight_changes) {
            steps.insert(change.step);
        }
    }
    return {steps.begin(), steps.end()};
}

std::vector<double> mean_shares(const Data& data, std::int64_t steps) {
    std::vector<double> shares(data.train.size(), 0);
    const auto begins = weight_steps(data);
    for (std::size_t r = 0; r < begins.size() && begins[r] < steps; ++r) {
        const std::int64_t end = r + 1 < begins.size() ? std::min(begins[r + 1], steps) : steps;
        const auto weights = weights_at(data, begins[r]);
        const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
        for (std::size_t s = 0; s < shares.size(); ++s) {
            shares[s] += weights[s] / sum * static_cast<double>(end - begins[r]) / static_cast<double>(steps);
        }
    }
    return shares;
}

}  // namespace ziggurat::spec
