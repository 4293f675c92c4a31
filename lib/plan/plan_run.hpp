/// The programs of a run as far as memory goes: what its ranks will reserve.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "plan/footprint.hpp"
#include "plan/watch.hpp"
#include "schedule/step_program.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// What the arenas of one rank's programs take, for training and validation together. Exact.
TierBytes bytes_of_rank(const spec::RunSpec& spec, int rank);

/// Whose programs are built for a plan. Ranks differ by a few percent, as their shards meet other boundaries.
enum class PlannedRanks {
    first,   ///< one of each pipeline stage: to search with
    several  ///< up to 16, from the first to the last; fewer where programs are large
};

/// The plan of a run.
struct RunPlan {
    Footprint footprint;
    schedule::Program fullest;      ///< of the rank with most device memory; ops lack their waits
    std::int64_t built_layers = 0;  ///< that it has ops of; its buffers are those of all (see scale_up)
    TierBytes rank_bytes{};         ///< that this rank reserves
    std::size_t ops = 0;            ///< of all programs that were built for this
    std::string how_exact;          ///< where it was planned by a smaller run (see how_exact)
};

/// Builds the programs of `which` ranks; of a run that trains no tensor, the evaluating ones alone. Ranks
/// that are not built count as the fullest of their stage that is.
///
/// Exact where all ranks are built and a step has up to 512 passes of units. Of very large models a smaller
/// one is built (see shortened). Of longer steps, and of such as have many tiles, some micro-batches stand
/// for all; the placement of the whole program may take up to a fifth more or less of the host tier, so where
/// that decides, the first rank's is built whole as well, of up to 4096 passes.
RunPlan plan_run(const spec::RunSpec& spec,
                 const spec::MachineSpec& machine = {},
                 PlannedRanks which = PlannedRanks::several,
                 const Watch& watch = {});

}  // namespace ziggurat::plan
