#include "plan/verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/units.hpp"

namespace ziggurat::plan {
namespace {

using spec::Tier;

constexpr std::array tiers{Tier::device, Tier::host, Tier::nvme};
constexpr std::array names{"device", "host", "nvme"};
constexpr std::size_t most_consumers = 3;

std::size_t index(Tier tier) {
    return static_cast<std::size_t>(tier);
}

/// `46.18 GiB (49,585,112,345 bytes)`.
std::string exactly(std::int64_t bytes) {
    return fmt::format("{} ({} bytes)", format_bytes(bytes), format_grouped(bytes));
}

/// `optimizer 12.0 GiB, leases 3.00 GiB, gradients 1.20 GiB, at 'layers.3.qkv forward 0'`.
std::string consumers(const MemoryTable& table, Tier tier) {
    std::vector<std::pair<std::int64_t, std::string>> most;
    for (const auto& row : table.rows) {
        most.emplace_back(row.bytes[index(tier)], to_string(row.consumer));
    }
    most.emplace_back(table.between[index(tier)], "between");
    std::sort(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string text;
    for (std::size_t i = 0; i < std::min(most.size(), most_consumers) && most[i].first > 0; ++i) {
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", most[i].second, format_bytes(most[i].first));
    }
    const auto& op = table.peak_op[index(tier)];
    return op.empty() ? text : fmt::format("{}, at '{}'", text, op);
}

std::string lacks(const spec::RunSpec& spec, const Footprint& footprint, const MemoryTable& table) {
    std::string text;
    if (footprint.has_too_many_threads()) {
        text += fmt::format(
            "  DOES NOT FIT: a rank has at most {} threads, and parallel.threads is {}. Lower it, or "
            "OMP_NUM_THREADS where the deck does not say it, or start more ranks.\n",
            spec::most_threads, footprint.threads);
    }
    for (const auto tier : tiers) {
        const auto t = index(tier);
        if (footprint.lack(tier) > 0) {
            const char* of = tier == Tier::device ? "rank" : "node";
            const auto limit = footprint.limit(tier);
            text += fmt::format("  DOES NOT FIT: {} needs {} more per {}: plan {}, {} {}\n", names[t],
                                exactly(footprint.lack(tier)), of, format_bytes(footprint.needed[t]),
                                limit < footprint.budget[t] ? "there is" : "budget", format_bytes(limit));
            text += fmt::format("    most of it on a rank: {}\n", consumers(table, tier));
            if (tier == Tier::nvme && footprint.there[t] < spec::unlimited &&
                !spec.tiers.nvme_paths.empty()) {
                text += fmt::format("    cannot reserve that in {}: {} are free there\n",
                                    fmt::join(spec.tiers.nvme_paths, ", "), format_bytes(footprint.there[t]));
            }
        }
    }
    if (footprint.memory_lack() > 0) {
        text += fmt::format(
            "  DOES NOT FIT: a node's memory needs {} more: all its tiers take {}, it has {} (installed, or "
            "granted by the control group)\n",
            exactly(footprint.memory_lack()), format_bytes(footprint.memory_needed),
            format_bytes(footprint.memory));
    }
    return text;
}

}  // namespace

std::string verdict(const spec::RunSpec& spec, const Footprint& footprint, const MemoryTable& table) {
    if (!footprint.fits()) {
        return lacks(spec, footprint, table);
    }
    constexpr std::array what{"device memory", "host memory", "NVMe space"};
    const auto ranks = spec.parallel.ranks_per_node;
    const auto node = ranks > 1 ? fmt::format("node of {} ranks", ranks) : std::string{"node"};
    std::string text;
    for (const auto tier : tiers) {
        const auto t = index(tier);
        const bool is_device = tier == Tier::device;
        if (footprint.limit(tier) < spec::unlimited && (is_device || footprint.needed[t] > 0)) {
            text += fmt::format("{}{} {} per {}", text.empty() ? "" : ", ",
                                format_bytes(footprint.limit(tier) - footprint.needed[t]), what[t],
                                is_device ? "rank" : node);
        }
    }
    return text.empty() ? "" : "  FITS, to spare: " + text + "\n";
}

}  // namespace ziggurat::plan
