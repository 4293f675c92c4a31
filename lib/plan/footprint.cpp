#include "plan/footprint.hpp"

#include <algorithm>
#include <map>

namespace ziggurat::plan {
namespace {

using spec::Tier;

/// Returns the bytes of a device or host that libraries or processes leave free.
std::int64_t left_by(std::int64_t libraries, std::int64_t bytes) {
    return bytes == spec::unlimited ? bytes : std::max<std::int64_t>(0, bytes - libraries);
}

}  // namespace

std::int64_t Footprint::limit(Tier tier) const noexcept {
    const auto t = tier_index(tier);
    return std::min(budget[t], available[t]);
}

std::int64_t Footprint::shortfall(Tier tier) const noexcept {
    return std::max<std::int64_t>(0, needed[tier_index(tier)] - limit(tier));
}

std::int64_t Footprint::memory_lack() const noexcept {
    return memory == 0 ? 0 : std::max<std::int64_t>(0, memory_needed - memory);
}

std::int64_t Footprint::total_lack() const noexcept {
    return shortfall(Tier::device) + shortfall(Tier::host) + shortfall(Tier::nvme) + memory_lack();
}

bool Footprint::is_clear(const spec::ByTier<double>& share) const noexcept {
    const auto fits_with = [&](double sign) {
        auto other = *this;
        for (const auto tier : all_tiers) {
            const auto t = tier_index(tier);
            other.needed[t] =
                static_cast<std::int64_t>(static_cast<double>(needed[t]) * (1 + sign * share[t]));
        }
        const double of_memory = std::max(share[0], share[1]);
        other.memory_needed =
            static_cast<std::int64_t>(static_cast<double>(memory_needed) * (1 + sign * of_memory));
        return other.fits();
    };
    return fits_with(-1) == fits_with(1);
}

Footprint footprint_of(const spec::RunSpec& spec,
                       const spec::MachineSpec& machine,
                       std::span<const RankBytes> by_rank,
                       std::span<const int> node_of) {
    std::map<int, TierBytes> nodes;
    std::map<int, std::int64_t> processes;
    std::int64_t libraries = 0;
    Footprint made;
    made.threads = spec.parallel.threads;
    for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
        auto& node = nodes[node_of[rank]];
        for (std::size_t t = 0; t < node.size(); ++t) {
            node[t] += by_rank[rank].tiers[t];
        }
        auto& of_node = processes[node_of[rank]];
        of_node += by_rank[rank].process;
        made.processes = std::max(made.processes, of_node);
        made.needed[0] = std::max(made.needed[0], by_rank[rank].tiers[0]);
        libraries = std::max(libraries, by_rank[rank].libraries);
    }
    for (const auto& [number, bytes] : nodes) {
        made.needed[1] = std::max(made.needed[1], bytes[1]);
        made.needed[2] = std::max(made.needed[2], bytes[2]);
        made.memory_needed = std::max(made.memory_needed, bytes[0] + bytes[1]);
    }
    made.budget = {spec.tiers.device_budget_bytes, spec.tiers.host_budget_bytes,
                   spec.tiers.nvme_budget_bytes};
    const auto known = [](std::int64_t bytes) { return bytes > 0 ? bytes : spec::unlimited; };
    const auto more_than_reserved = std::max<std::int64_t>(0, made.processes - machine.process_bytes);
    const auto host = left_by(more_than_reserved, known(machine.host_bytes));
    made.available = {machine.has_device ? left_by(libraries, known(machine.device_bytes)) : spec::unlimited,
                      host, machine.nvme_bytes};
    made.memory = machine.has_device || machine.host_bytes <= 0 ? 0 : host;
    return made;
}

}  // namespace ziggurat::plan
