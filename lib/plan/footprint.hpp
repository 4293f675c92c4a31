/// Footprint of a run: bytes that it reserves in each tier, and the limits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"
#include "spec/threads.hpp"

namespace ziggurat::plan {

/// Bytes by spec::Tier.
using TierBytes = spec::ByTier<std::int64_t>;

inline constexpr std::array all_tiers{spec::Tier::device, spec::Tier::host, spec::Tier::nvme};

/// Returns the index of a tier in TierBytes.
constexpr std::size_t tier_index(spec::Tier tier) noexcept {
    return static_cast<std::size_t>(tier);
}

/// Memory of one rank.
struct RankBytes {
    TierBytes tiers{};
    std::int64_t libraries = 0;  ///< of its device, in addition to the device tier: see library_memory
    std::int64_t process = 0;    ///< of its host, in addition to the tiers: see ProcessMemory::peak
};

/// Bytes by spec::Tier: for the fullest rank in the device tier, for the fullest node in the others.
struct Footprint {
    TierBytes needed{};
    TierBytes budget{spec::unlimited, spec::unlimited, spec::unlimited};
    /// Capacity of the machine in each tier. For a GPU: what libraries leave free on the rank with most of
    /// them.
    TierBytes available{spec::unlimited, spec::unlimited, spec::unlimited};
    /// Memory of a node without GPUs: its host tier and the device tiers of its ranks.
    std::int64_t memory_needed = 0;
    /// Memory of the processes of the fullest node outside of the tiers, each in its largest phase.
    ///
    /// It reduces what the machine has for tiers, unless the machine was described without it.
    std::int64_t processes = 0;
    int threads = 1;          ///< per rank
    std::int64_t memory = 0;  ///< capacity of the node or of the process's control group; 0: unknown, or GPUs

    /// Returns the budget, or the capacity if that is smaller.
    std::int64_t limit(spec::Tier tier) const noexcept;
    std::int64_t shortfall(spec::Tier tier) const noexcept;
    std::int64_t memory_lack() const noexcept;
    /// Returns the shortfall of all tiers and of the node's memory.
    std::int64_t total_lack() const noexcept;
    /// True if a rank cannot have that many threads.
    bool has_too_many_threads() const noexcept { return threads > spec::max_threads; }
    bool fits() const noexcept { return total_lack() == 0 && !has_too_many_threads(); }
    /// True if fits() would be the same with that share more or less bytes in all tiers.
    bool is_clear(const spec::ByTier<double>& share) const noexcept;
};

/// Returns the footprint of ranks that need `by_rank`, on nodes that `node_of` numbers; both by world
/// rank.
Footprint footprint_of(const spec::RunSpec& spec,
                       const spec::MachineSpec& machine,
                       std::span<const RankBytes> by_rank,
                       std::span<const int> node_of);

}  // namespace ziggurat::plan
