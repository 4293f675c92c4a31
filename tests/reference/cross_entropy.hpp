/// Cross-entropy of one row in double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace ziggurat::reference {

inline double log_sum_exp(const std::vector<double>& logits) {
    const double top = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const double logit : logits) {
        sum += std::exp(logit - top);
    }
    return top + std::log(sum);
}

inline double cross_entropy(const std::vector<double>& logits, std::size_t target) {
    return log_sum_exp(logits) - logits[target];
}

/// Returns softmax(logits) - onehot(target).
inline std::vector<double> cross_entropy_backward(const std::vector<double>& logits, std::size_t target) {
    const double log_sum = log_sum_exp(logits);
    std::vector<double> d(logits.size());
    for (std::size_t c = 0; c < d.size(); ++c) {
        d[c] = std::exp(logits[c] - log_sum) - (c == target ? 1 : 0);
    }
    return d;
}

}  // namespace ziggurat::reference
