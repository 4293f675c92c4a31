/// Programs of one rank of a run, for its memory: built whole, or scaled up from a smaller run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plan/footprint.hpp"
#include "plan/process/process_memory.hpp"
#include "plan/reduced_run.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Maximum of unit passes that are built in full (about a second), and the maximum if it is not clear
/// whether the run fits.
inline constexpr std::int64_t max_passes = 512;
inline constexpr std::int64_t max_passes_to_be_sure = 4096;

/// Returns the number of unit passes in a step.
std::int64_t passes_of_step(const spec::RunSpec& spec);

/// True if chunks move in steps of at most max_passes, which are built whole to plan their time.
bool times_with_chunks(const spec::RunSpec& spec);

/// Programs of one rank, and their memory.
struct RankPrograms {
    schedule::Program train;     ///< the largest program if no tensor is trained; without dependencies
    TierBytes bytes{};           ///< arenas of the size that the largest of all programs needs
    std::int64_t libraries = 0;  ///< of the device, in no arena: see library_memory
    std::size_t ops = 0;         ///< of all programs
    ProcessMemory process;       ///< of the host, in no arena

    /// Returns the bytes that count in a footprint.
    RankBytes rank_bytes() const { return {bytes, libraries, process.peak()}; }
};

/// Builds the programs of `built`, the result of shortened(), and scales them up to `whole`.
///
/// In long steps, some micro-batches represent all.
RankPrograms build_small(const spec::RunSpec& whole, const ReducedRun& built, int rank);

/// Builds the exact programs.
RankPrograms build_whole(const spec::RunSpec& spec, int rank);

}  // namespace ziggurat::plan
