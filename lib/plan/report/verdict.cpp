#include "plan/report/verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text/units.hpp"
#include "spec/home_text.hpp"

namespace ziggurat::plan {
namespace {

using spec::Tier;

constexpr std::size_t max_consumers = 3;

/// Returns bytes in both forms: `46.18 GiB (49,585,112,345 bytes)`.
std::string exactly(std::int64_t bytes) {
    return fmt::format("{} ({} bytes)", format_bytes(bytes), format_grouped(bytes));
}

/// Returns the largest consumers:
/// `optimizer 12.0 GiB, leases 3.00 GiB, gradients 1.20 GiB, at 'layers.3.qkv forward 0'`.
std::string consumers(const MemoryTable& table, Tier tier) {
    std::vector<std::pair<std::int64_t, std::string>> max;
    for (const auto& row : table.rows) {
        max.emplace_back(row.bytes[tier_index(tier)], to_string(row.consumer));
    }
    max.emplace_back(table.between[tier_index(tier)], "between");
    std::sort(max.begin(), max.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string text;
    for (std::size_t i = 0; i < std::min(max.size(), max_consumers) && max[i].first > 0; ++i) {
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", max[i].second, format_bytes(max[i].first));
    }
    const auto& op = table.peak_op[tier_index(tier)];
    return op.empty() ? text : fmt::format("{}, at '{}'", text, op);
}

/// Returns a line about state in two slots; empty without it.
std::string second_slots(const MemoryTable& table, Tier tier) {
    for (const auto& row : table.rows) {
        const auto bytes = row.bytes[tier_index(tier)];
        if (row.consumer == schedule::MemoryCategory::undo && bytes > 0) {
            return fmt::format(
                "    of it, {} are second slots of optimizer state (optimizer.clip.policy: speculate)\n",
                exactly(bytes));
        }
    }
    return "";
}

/// Returns `a rank`, or in a pipeline `rank 3 of stage 1`.
std::string holder(const spec::RunSpec& spec, const StageUsage& stage) {
    return spec.parallel.stages == 1 ? std::string{"a rank"}
                                     : fmt::format("rank {} of stage {}", stage.rank, stage.stage);
}

std::string lacks(const spec::RunSpec& spec, const Footprint& footprint, std::span<const StageUsage> stages) {
    std::string text;
    if (footprint.has_too_many_threads()) {
        text += fmt::format(
            "  DOES NOT FIT: a rank has at most {} threads, and parallel.threads is {}. Lower it (or "
            "OMP_NUM_THREADS, if the deck does not set it), or start more ranks.\n",
            spec::max_threads, footprint.threads);
    }
    for (const auto tier : all_tiers) {
        const auto t = tier_index(tier);
        if (footprint.shortfall(tier) > 0) {
            const char* of = tier == Tier::device ? "rank" : "node";
            const auto limit = footprint.limit(tier);
            text +=
                fmt::format("  DOES NOT FIT: {} is short by {} per {}: plan {}, {} {}\n", spec::tier_names[t],
                            exactly(footprint.shortfall(tier)), of, format_bytes(footprint.needed[t]),
                            limit < footprint.budget[t] ? "available" : "budget", format_bytes(limit));
            const auto& worst = *std::ranges::max_element(
                stages, {}, [&](const StageUsage& stage) { return stage.table.total[t]; });
            text += fmt::format("    largest on {}: {}\n", holder(spec, worst), consumers(worst.table, tier));
            text += second_slots(worst.table, tier);
            if (tier == Tier::nvme && footprint.available[t] < footprint.needed[t] &&
                !spec.tiers.nvme_paths.empty()) {
                text +=
                    fmt::format("    cannot reserve that in {}: only {} free\n",
                                fmt::join(spec.tiers.nvme_paths, ", "), format_bytes(footprint.available[t]));
            }
        }
    }
    if (footprint.memory_lack() > 0) {
        text += fmt::format(
            "  DOES NOT FIT: a node's memory is short by {}: all its tiers need {}, it has {} for them "
            "(installed, or granted by the control group; processes need {})\n",
            exactly(footprint.memory_lack()), format_bytes(footprint.memory_needed),
            format_bytes(footprint.memory), format_bytes(footprint.processes));
    }
    return text;
}

}  // namespace

std::string verdict(const spec::RunSpec& spec,
                    const Footprint& footprint,
                    std::span<const StageUsage> stages,
                    const std::string& but) {
    if (!footprint.fits()) {
        return lacks(spec, footprint, stages);
    }
    constexpr std::array what{"device memory", "host memory", "NVMe space"};
    const auto ranks = spec.parallel.ranks_per_node;
    const auto node = ranks > 1 ? fmt::format("node of {} ranks", ranks) : std::string{"node"};
    std::string text;
    for (const auto tier : all_tiers) {
        const auto t = tier_index(tier);
        const bool is_device = tier == Tier::device;
        if (footprint.limit(tier) < spec::unlimited && (is_device || footprint.needed[t] > 0)) {
            text += fmt::format("{}{} {} per {}", text.empty() ? "" : ", ",
                                format_bytes(footprint.limit(tier) - footprint.needed[t]), what[t],
                                is_device ? "rank" : node);
        }
    }
    return text.empty() ? "" : fmt::format("  FITS, free: {}{}{}\n", text, but.empty() ? "" : "; ", but);
}

}  // namespace ziggurat::plan
