#include "spec/budgets.hpp"

#include <algorithm>

namespace ziggurat::spec {

ByTier<std::int64_t> budgets_of_rank(const RunSpec& run) {
    const auto part = [](std::int64_t budget, int ranks) { return budget == unlimited ? 0 : budget / ranks; };
    const int ranks = std::max(run.parallel.ranks_per_node, 1);
    const auto& tiers = run.tiers;
    return {part(tiers.device_budget_bytes, 1), part(tiers.host_budget_bytes, ranks),
            part(tiers.nvme_budget_bytes, ranks)};
}

std::int64_t pinned_bytes_of_rank(const RunSpec& run) {
    const auto bytes = run.tiers.pinned_bytes;
    return bytes == unlimited ? bytes : bytes / std::max(run.parallel.ranks_per_node, 1);
}

}  // namespace ziggurat::spec
