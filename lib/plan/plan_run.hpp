/// Memory plan of a run: the bytes that its ranks will reserve.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/footprint.hpp"
#include "plan/process/process_memory.hpp"
#include "plan/watch.hpp"
#include "schedule/step_program.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Returns the memory of one rank for training and validation together.
///
/// These are the arenas of its programs, exactly, and libraries.
RankBytes needs_of_rank(const spec::RunSpec& spec, int rank);
/// Returns the memory of its arenas only.
TierBytes bytes_of_rank(const spec::RunSpec& spec, int rank);

/// Ranks whose programs are built for a plan. Ranks differ by a few percent, because their shards cross
/// other boundaries.
enum class PlannedRanks {
    estimate,  ///< as `first`, by a few layers: up to 3 % too high on the device, a fifth on the host
    first,     ///< one of each pipeline stage that is built; for searches
    several_in_search,  ///< as `several`; for pipelines with large programs, with the small ones of `first`
    several             ///< all if their programs are small; else up to 16, spread over the data axis, and
                        ///< each kind of tensor rank; fewer if programs are large
};

/// Fullest built rank of a pipeline stage: the rank with most device memory.
struct PlannedStage {
    int stage = 0;
    int last = 0;                ///< last stage that it represents; the first is `stage`
    schedule::Program program;   ///< ops without dependencies
    TierBytes rank_bytes{};      ///< reserved by this rank
    std::int64_t libraries = 0;  ///< see RankBytes
    ProcessMemory process;       ///< of the host, outside of the tiers
    std::size_t ops = 0;         ///< of all programs of the rank
};

/// The plan of a run.
struct RunPlan {
    Footprint footprint;
    std::vector<PlannedStage> stages;  ///< in order; only the fullest for PlannedRanks::first
    std::int64_t built_layers = 0;     ///< layers that have ops; buffers have the sizes for all (scale_up)
    std::string accuracy_note;         ///< not empty if a smaller run was planned (see accuracy_note)

    /// Returns the stage with most device memory.
    const PlannedStage& fullest() const;
};

/// Builds the programs of `which` ranks and returns the plan.
///
/// For a run that trains no tensor, builds only the evaluation programs. Ranks that are not built count as
/// the fullest built rank of their stage.
///
/// In pipelines with large programs, some stages represent later stages. Those do not have more layers, and
/// do not keep the activations of more micro-batches. With Movement::chunks, they can fill more memory,
/// within the device's budget.
///
/// With `only_stage`, only that stage is built, and all ranks are assumed to be like its ranks. Its needs are
/// compared with its own device, and with equal shares of a node's memory and disks.
///
/// The plan is exact if all ranks are built and a step has up to 512 passes of units. For very large models,
/// a smaller run is built (see shortened). If that does not fit, the whole run is built too, unless this
/// takes minutes. For longer steps and for many tiles, some micro-batches represent all. The placement of the
/// whole program may then differ by a fifth in the host tier. If that decides, the first rank's program is
/// also built as a whole, for up to 4096 passes.
RunPlan plan_run(const spec::RunSpec& spec,
                 const spec::MachineSpec& machine = {},
                 PlannedRanks which = PlannedRanks::several,
                 const Watch& watch = {},
                 std::optional<int> only_stage = {});

/// Returns the plan for PlannedRanks::several_in_search.
///
/// \param first  the plan of the same run for PlannedRanks::first: its programs are not built again if both
///               plans reduce the run to the same one. `watch` is called for them, too.
RunPlan plan_several_in_search(RunPlan first,
                               const spec::RunSpec& spec,
                               const spec::MachineSpec& machine,
                               const Watch& watch = {});

/// Returns the footprint for PlannedRanks::first, or for several_in_search if that fits by little.
///
/// For searches that compare runs by whether they fit.
Footprint footprint_in_search(const spec::RunSpec& spec,
                              const spec::MachineSpec& machine,
                              const Watch& watch = {});

/// True if ranks that were not planned may decide whether the run fits.
bool may_not_fit_on_other_ranks(const Footprint& of_first);

}  // namespace ziggurat::plan
