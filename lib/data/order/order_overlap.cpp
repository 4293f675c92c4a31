#include "data/order/order_overlap.hpp"

#include <algorithm>
#include <cmath>

namespace ziggurat::data {
namespace {

/// Up to this number of tokens all are checked; otherwise a sample of `num_sampled`.
constexpr std::int64_t max_counted = std::int64_t{1} << 20;
constexpr std::int64_t num_sampled = std::int64_t{1} << 16;

}  // namespace

RepeatedTokens repeated_tokens(const TrainingOrder& before,
                               int part_before,
                               const SourcePosition& source_position,
                               const TrainingOrder& after,
                               int part_after) {
    const std::int64_t left = after.tokens_left(part_after);
    if (source_position.tokens == 0 || left == 0) {
        return {};
    }
    const bool is_exact = left <= max_counted;
    const std::int64_t looked_at = is_exact ? left : num_sampled;
    const double stride = static_cast<double>(left) / static_cast<double>(looked_at);
    std::int64_t repeated = 0;
    for (std::int64_t i = 0; i < looked_at; ++i) {
        const auto passed =
            is_exact ? i : std::min(left - 1, static_cast<std::int64_t>(stride * static_cast<double>(i)));
        repeated +=
            before.has_passed(part_before, after.token_ahead(part_after, passed), source_position) ? 1 : 0;
    }
    return {is_exact ? repeated : std::llround(stride * static_cast<double>(repeated)), is_exact};
}

}  // namespace ziggurat::data
