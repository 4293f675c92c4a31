/// What a run reserves in each tier, and what it may.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "schedule/step_program.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Bytes by spec::Tier: of the fullest rank in the device tier, of the fullest node in the others.
struct Footprint {
    std::array<std::int64_t, 3> needed{};
    std::array<std::int64_t, 3> budget{};  ///< 0: none given
    /// Of a node's memory: the host tier and, without GPUs, the device tiers of its ranks.
    std::int64_t memory_needed = 0;
    std::int64_t memory = 0;  ///< what the node has, or the process's control group grants; 0: unknown

    std::int64_t lack(spec::Tier tier) const noexcept;
    std::int64_t memory_lack() const noexcept;
    /// Of all tiers and of the memory.
    std::int64_t total_lack() const noexcept;
    bool fits() const noexcept { return total_lack() == 0; }
};

/// The plan of a run, by stages of its pipeline: ranks that differ only on other axes reserve the same.
struct RunPlan {
    Footprint footprint;
    schedule::Program fullest;                 ///< of the rank with most device memory; ops lack their waits
    std::array<std::int64_t, 3> rank_bytes{};  ///< that this rank reserves
    std::size_t ops = 0;                       ///< of all programs that were built for this
};

/// Builds the programs of one rank per stage; of a run that trains no tensor, the evaluating one alone.
///
/// Exact: `needed` is what the arenas of the run will hold, for training and validation together. Of runs
/// with hundreds of passes of units a step, some micro-batches stand for all of them; then it is within 1 %.
RunPlan plan_run(const spec::RunSpec& spec, const spec::MachineSpec& machine = {});

}  // namespace ziggurat::plan
