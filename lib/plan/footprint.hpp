/// What a run reserves in each tier, and what it may.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schedule/step_program.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// By spec::Tier.
using TierBytes = std::array<std::int64_t, 3>;

/// Bytes by spec::Tier: of the fullest rank in the device tier, of the fullest node in the others.
struct Footprint {
    std::array<std::int64_t, 3> needed{};
    std::array<std::int64_t, 3> budget{spec::unlimited, spec::unlimited, spec::unlimited};
    std::array<std::int64_t, 3> there{};  ///< that the machine has of each tier; 0: unknown
    /// Of a node's memory, without GPUs: the host tier and the device tiers of its ranks.
    std::int64_t memory_needed = 0;
    std::int64_t memory = 0;  ///< what the node has, or the process's control group grants; 0: unknown, GPUs

    /// The budget, or what there is where that is less.
    std::int64_t limit(spec::Tier tier) const noexcept;
    std::int64_t lack(spec::Tier tier) const noexcept;
    std::int64_t memory_lack() const noexcept;
    /// Of all tiers and of the memory.
    std::int64_t total_lack() const noexcept;
    bool fits() const noexcept { return total_lack() == 0; }
};

/// Of ranks that reserve `by_rank`, on nodes that `node_of` numbers; both by world rank.
Footprint footprint_of(const spec::RunSpec& spec,
                       const spec::MachineSpec& machine,
                       std::span<const TierBytes> by_rank,
                       std::span<const int> node_of);

/// What the arenas of one rank's programs take, for training and validation together. Exact.
TierBytes bytes_of_rank(const spec::RunSpec& spec, int rank);

/// Whose programs are built for a plan. Ranks differ by a few percent, as their shards meet other boundaries.
enum class PlannedRanks {
    first,   ///< one of each pipeline stage: to search with
    several  ///< all of up to 16, else 16 from the first to the last
};

/// The plan of a run.
struct RunPlan {
    Footprint footprint;
    schedule::Program fullest;  ///< of the rank with most device memory; ops lack their waits
    TierBytes rank_bytes{};     ///< that this rank reserves
    std::size_t ops = 0;        ///< of all programs that were built for this
};

/// Builds the programs of `which` ranks; of a run that trains no tensor, the evaluating ones alone. Ranks
/// that are not built count as the fullest of their stage that is.
///
/// Exact where all ranks are built and a step has up to 512 passes of units. Of longer steps, some
/// micro-batches stand for all; the placement of the whole program may take up to a fifth more or less of the
/// host tier, so where that decides, the first rank's is built whole as well, of up to 4096 passes.
RunPlan plan_run(const spec::RunSpec& spec,
                 const spec::MachineSpec& machine = {},
                 PlannedRanks which = PlannedRanks::several);

}  // namespace ziggurat::plan
