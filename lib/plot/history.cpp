#include "plot/history.hpp"

#include <algorithm>

namespace ziggurat::plot {

std::string_view loss_unit(LossKind kind) {
    return kind == LossKind::next_token ? "nats per token" : "per pair";
}

bool History::waits_for(std::size_t lane) const {
    return std::ranges::any_of(steps, [lane](const Step& step) { return step.stall_s[lane] > 0; });
}

bool History::uses(MemoryTier tier) const {
    return std::ranges::any_of(steps, [tier](const Step& step) { return step.tier_bytes[tier] > 0; });
}

bool History::has_rewards() const {
    const auto has = [](const auto& row) { return row.rewards.has_value(); };
    return std::ranges::any_of(steps, has) || std::ranges::any_of(validations, has);
}

}  // namespace ziggurat::plot
