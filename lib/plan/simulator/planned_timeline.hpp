/// Timeline of a planned step: when each op of some ranks begins and ends.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plan/simulator/step_simulation.hpp"
#include "schedule/step_program.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// A rank of the timeline.
struct TimelineRank {
    int rank = 0;
    int stage = 0;
    schedule::Program program;
    /// By op, in seconds from the begin of the step; below 0 if an op runs ahead during the step before.
    ///
    /// `after.rank` is an index into PlannedTimeline::ranks.
    std::vector<SimulatedOp> times;
};

struct PlannedTimeline {
    double step_seconds = 0;
    std::vector<TimelineRank> ranks;  ///< one of each stage, or of each kind of stage
    /// Parts of the run that the timeline leaves out, such as `6 of 64 micro-batches`; empty if none.
    std::string reduced;
};

/// Maximum of unit passes in a step of which every op is shown.
inline constexpr std::int64_t max_timeline_passes = 1024;

/// Simulates the first rank of each stage of a run together, with other ranks always ready.
///
/// For more than max_timeline_passes passes, it simulates a reduced run: the first rank of each kind of stage
/// by itself, with fewer layers and micro-batches. `reduced` then names them.
PlannedTimeline planned_timeline(const spec::RunSpec& spec, const spec::MachineSpec& machine);

/// Bytes of a tier over the step, as steps of a curve.
struct MemoryCurve {
    std::vector<double> seconds;  ///< increasing; the first is 0
    std::vector<double> bytes;    ///< from that time on

    double max() const;
};

/// Returns the bytes of live buffers of a rank in `tier`.
///
/// Buffers that live as long as the program count for the whole step, others from the first op that names
/// them to the last. Gaps between buffers of an arena are not included.
MemoryCurve memory_curve(const TimelineRank& rank, spec::Tier tier, double step_seconds);

}  // namespace ziggurat::plan
