/// Choice of the next token of a text.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ziggurat::train {

/// How tokens are drawn from the logits.
struct Drawing {
    double temperature = 1;  ///< divides the logits; 0: the most likely token
    std::int64_t top_k = 0;  ///< draws from so many of the most likely tokens; 0: from all
    double top_p = 1;        ///< then from the fewest of them that together have this probability
};

/// The token that `random`, from 0 to 1, stands for. Of equal logits the lower token goes first.
///
/// \param weights  scratch, at least as large as `logits`
/// Source: Fan et al., "Hierarchical Neural Story Generation", 2018, section 5.4 (top-k); Holtzman et al.,
/// "The Curious Case of Neural Text Degeneration", 2020, section 3.1 (top-p)
std::int32_t draw_token(std::span<const float> logits,
                        const Drawing& drawing,
                        double random,
                        std::vector<double>& weights);

}  // namespace ziggurat::train
