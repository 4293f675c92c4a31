/// The programs of a run as far as memory goes: what its ranks will reserve.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/footprint.hpp"
#include "plan/watch.hpp"
#include "schedule/step_program.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// What one rank takes for training and validation together: the arenas of its programs, exactly, and
/// libraries.
RankBytes needs_of_rank(const spec::RunSpec& spec, int rank);
/// Its arenas alone.
TierBytes bytes_of_rank(const spec::RunSpec& spec, int rank);

/// Whose programs are built for a plan. Ranks differ by a few percent, as their shards meet other boundaries.
enum class PlannedRanks {
    first,              ///< one of each pipeline stage that is built: to search with
    several_in_search,  ///< as `several`; of pipelines with large programs, of programs as small as those of
                        ///< `first`
    several             ///< up to 16, from the first to the last; fewer where programs are large
};

/// The fullest rank of a pipeline stage that was built: the one with most device memory.
struct PlannedStage {
    int stage = 0;
    int last = 0;                ///< of the stages that it stands for: those from `stage` on
    schedule::Program program;   ///< ops lack their waits
    TierBytes rank_bytes{};      ///< that this rank reserves
    std::int64_t libraries = 0;  ///< see RankBytes
};

/// The plan of a run.
struct RunPlan {
    Footprint footprint;
    std::vector<PlannedStage>
        stages;                     ///< in their order; of the fullest alone where PlannedRanks are `first`
    std::int64_t built_layers = 0;  ///< that programs have ops of; their buffers are those of all (scale_up)
    std::string how_exact;          ///< where it was planned by a smaller run (see how_exact)

    /// The stage with most device memory.
    const PlannedStage& fullest() const;
};

/// Builds the programs of `which` ranks; of a run that trains no tensor, the evaluating ones alone. Ranks
/// that are not built count as the fullest of their stage that is.
///
/// Of pipelines with large programs, some stages stand for those behind them, which have as many layers or
/// fewer and keep the activations of no more micro-batches.
///
/// With `only_stage`, all ranks are taken to be like those of that stage, which alone is built: what it needs
/// is held against its own device, and against equal parts of a node's memory and disks.
///
/// Exact where all ranks are built and a step has up to 512 passes of units. Of very large models a smaller
/// one is built (see shortened), and the whole one as well before it is said that it does not fit, unless
/// that takes minutes. Of longer steps, and of such as have many tiles, some micro-batches stand for all; the
/// placement of the whole program may take up to a fifth more or less of the host tier, so where that
/// decides, the first rank's is built whole as well, of up to 4096 passes.
RunPlan plan_run(const spec::RunSpec& spec,
                 const spec::MachineSpec& machine = {},
                 PlannedRanks which = PlannedRanks::several,
                 const Watch& watch = {},
                 std::optional<int> only_stage = {});

}  // namespace ziggurat::plan
