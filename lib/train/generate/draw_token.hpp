/// Sampling of the next token from logits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ziggurat::train {

/// Sampling parameters: temperature, top-k and top-p.
struct Drawing {
    double temperature = 1;  ///< divides the logits; 0: greedy, the most likely token
    std::int64_t top_k = 0;  ///< samples from the k most likely tokens; 0: from all
    double top_p = 1;        ///< then from the smallest set of them with at least this total probability
};

/// Returns the token that `random` in [0, 1) selects. Equal logits are ordered by token, lowest first.
///
/// \param weights  scratch, at least as large as `logits`
/// Source: Fan et al., "Hierarchical Neural Story Generation", 2018, section 5.4 (top-k); Holtzman et al.,
/// "The Curious Case of Neural Text Degeneration", 2020, section 3.1 (top-p)
std::int32_t draw_token(std::span<const float> logits,
                        const Drawing& drawing,
                        double random,
                        std::vector<double>& weights);

}  // namespace ziggurat::train
