/// Footprint of a run: bytes that it reserves in each tier, and may.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"
#include "spec/threads.hpp"

namespace ziggurat::plan {

/// By spec::Tier.
using TierBytes = std::array<std::int64_t, 3>;

inline constexpr std::array all_tiers{spec::Tier::device, spec::Tier::host, spec::Tier::nvme};

/// Place of a tier in TierBytes.
constexpr std::size_t tier_index(spec::Tier tier) noexcept {
    return static_cast<std::size_t>(tier);
}

/// What a rank takes.
struct RankBytes {
    TierBytes tiers{};
    std::int64_t libraries = 0;  ///< of its device, beside the device tier: see library_memory
};

/// Bytes by spec::Tier: of the fullest rank in the device tier, of the fullest node in the others.
struct Footprint {
    TierBytes needed{};
    TierBytes budget{spec::unlimited, spec::unlimited, spec::unlimited};
    /// That the machine has of each tier; of a GPU, what libraries leave that take most of one.
    TierBytes there{spec::unlimited, spec::unlimited, spec::unlimited};
    /// Of a node's memory, without GPUs: the host tier and the device tiers of its ranks.
    std::int64_t memory_needed = 0;
    int threads = 1;          ///< of a rank
    std::int64_t memory = 0;  ///< what the node has, or the process's control group grants; 0: unknown, GPUs

    /// The budget, or what there is where that is less.
    std::int64_t limit(spec::Tier tier) const noexcept;
    std::int64_t lack(spec::Tier tier) const noexcept;
    std::int64_t memory_lack() const noexcept;
    /// Of all tiers and of the memory.
    std::int64_t total_lack() const noexcept;
    /// There are no ranks of so many threads.
    bool has_too_many_threads() const noexcept { return threads > spec::most_threads; }
    bool fits() const noexcept { return total_lack() == 0 && !has_too_many_threads(); }
};

/// Of ranks that take `by_rank`, on nodes that `node_of` numbers; both by world rank.
Footprint footprint_of(const spec::RunSpec& spec,
                       const spec::MachineSpec& machine,
                       std::span<const RankBytes> by_rank,
                       std::span<const int> node_of);

}  // namespace ziggurat::plan
