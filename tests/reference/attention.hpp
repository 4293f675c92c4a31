/// Causal attention of one head in double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

namespace ziggurat::reference {

/// Rows of queries, keys and values, [seq][head_dim] each, and the mask and dropout.
struct AttentionHead {
    std::size_t seq, head_dim;
    double scale;  ///< factor of the scores
    double cap;    ///< soft cap of the scaled scores; 0: none
    std::vector<double> q, k, v;
    std::function<std::size_t(std::size_t query)> first_key;
    std::function<double(std::size_t query, std::size_t key)> factor;  ///< dropout factor of the weight

    double score(std::size_t query, std::size_t key) const {
        double sum = 0;
        for (std::size_t d = 0; d < head_dim; ++d) {
            sum += q[query * head_dim + d] * k[key * head_dim + d];
        }
        return cap > 0 ? cap * std::tanh(scale * sum / cap) : scale * sum;
    }

    /// Returns the derivative of a score by the product of query and key.
    double slope(double score) const {
        const double tangent = cap > 0 ? score / cap : 0;
        return scale * (1 - tangent * tangent);
    }

    /// Returns the log of the sum of exp(score) over the keys that `query` attends to.
    double log_sum_exp(std::size_t query) const {
        double top = -HUGE_VAL;
        for (std::size_t key = first_key(query); key <= query; ++key) {
            top = std::max(top, score(query, key));
        }
        double sum = 0;
        for (std::size_t key = first_key(query); key <= query; ++key) {
            sum += std::exp(score(query, key) - top);
        }
        return top + std::log(sum);
    }
};

inline std::vector<double> attention(const AttentionHead& head) {
    std::vector<double> out(head.seq * head.head_dim);
    for (std::size_t query = 0; query < head.seq; ++query) {
        const double lse = head.log_sum_exp(query);
        for (std::size_t key = head.first_key(query); key <= query; ++key) {
            const double weight = std::exp(head.score(query, key) - lse) * head.factor(query, key);
            for (std::size_t d = 0; d < head.head_dim; ++d) {
                out[query * head.head_dim + d] += weight * head.v[key * head.head_dim + d];
            }
        }
    }
    return out;
}

/// Gradients of sum(out * d_out), [seq][head_dim] each.
struct AttentionGradient {
    std::vector<double> q, k, v;
};

inline AttentionGradient attention_backward(const AttentionHead& head, const std::vector<double>& d_out) {
    const auto n = head.head_dim;
    AttentionGradient d{std::vector<double>(head.q.size()), std::vector<double>(head.k.size()),
                        std::vector<double>(head.v.size())};
    for (std::size_t query = 0; query < head.seq; ++query) {
        const double lse = head.log_sum_exp(query);
        std::vector<double> weight(query + 1), d_weight(query + 1);
        double mean = 0;
        for (std::size_t key = head.first_key(query); key <= query; ++key) {
            weight[key] = std::exp(head.score(query, key) - lse);
            const double factor = head.factor(query, key);
            for (std::size_t i = 0; i < n; ++i) {
                d_weight[key] += d_out[query * n + i] * head.v[key * n + i] * factor;
                d.v[key * n + i] += weight[key] * factor * d_out[query * n + i];
            }
            mean += weight[key] * d_weight[key];
        }
        for (std::size_t key = head.first_key(query); key <= query; ++key) {
            const double d_score = weight[key] * (d_weight[key] - mean) * head.slope(head.score(query, key));
            for (std::size_t i = 0; i < n; ++i) {
                d.q[query * n + i] += d_score * head.k[key * n + i];
                d.k[key * n + i] += d_score * head.q[query * n + i];
            }
        }
    }
    return d;
}

}  // namespace ziggurat::reference
