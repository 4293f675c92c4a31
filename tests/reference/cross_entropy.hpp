/// Cross-entropy of one row in double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace ziggurat::reference {

inline double cross_entropy(const std::vector<double>& logits, std::size_t target) {
    const double top = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const double logit : logits) {
        sum += std::exp(logit - top);
    }
    return top + std::log(sum) - logits[target];
}

/// softmax(logits) - onehot(target): component c of softmax is exp(-cross_entropy of target c).
inline std::vector<double> cross_entropy_backward(const std::vector<double>& logits, std::size_t target) {
    std::vector<double> d(logits.size());
    for (std::size_t c = 0; c < d.size(); ++c) {
        d[c] = std::exp(-cross_entropy(logits, c)) - (c == target ? 1 : 0);
    }
    return d;
}

}  // namespace ziggurat::reference
