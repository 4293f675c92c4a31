#include "plot/history.hpp"

#include <algorithm>

namespace ziggurat::plot {

bool History::waits_for(std::size_t lane) const {
    return std::ranges::any_of(steps, [lane](const Step& step) { return step.stall_s[lane] > 0; });
}

bool History::uses(MemoryTier tier) const {
    return std::ranges::any_of(steps, [tier](const Step& step) { return step.tier_bytes[tier] > 0; });
}

}  // namespace ziggurat::plot
