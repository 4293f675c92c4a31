/// Programs of one rank of a run, as far as memory goes: whole, or those of a smaller run scaled up.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plan/footprint.hpp"
#include "plan/short_run.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Passes of units that are built in full: about a second; and where it is not clear whether the run fits.
inline constexpr std::int64_t most_passes = 512;
inline constexpr std::int64_t most_passes_to_be_sure = 4096;

/// Passes of units in a step.
std::int64_t passes_of_step(const spec::RunSpec& spec);

/// The programs of one rank, and what they take.
struct RankPrograms {
    schedule::Program train;     ///< the evaluating one of a run that trains nothing; ops lack their waits
    TierBytes bytes{};           ///< arenas as large as the larger of both programs needs them
    std::int64_t libraries = 0;  ///< of the device, in no arena: see library_memory
    std::size_t ops = 0;         ///< of both
};

/// Of `whole` by those of `built`, which is what is left of it after shortened(). Of long steps some
/// micro-batches stand for all.
RankPrograms build_small(const spec::RunSpec& whole, const ShortRun& built, int rank);

/// Exactly.
RankPrograms build_whole(const spec::RunSpec& spec, int rank);

}  // namespace ziggurat::plan
