/// Memory of a rank's device outside of the arenas of the plan.
#pragma once

#include <cstdint>
#include <span>

#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

struct LibraryMemory {
    std::int64_t kernels = 0;  ///< see layout::Workspaces::libraries
    /// Reserved by comm/nccl for sums that are formed from received pieces; exact. Vectors in collectives
    /// of programs are in the device tier and need no other memory.
    std::int64_t exchange = 0;
    std::int64_t communicators = 0;  ///< estimate of NCCL's own memory, if parallel.transport is nccl

    std::int64_t total() const noexcept { return kernels + exchange + communicators; }
};

/// Returns the memory of a rank that runs these programs; equal groups of them share a communicator.
LibraryMemory library_memory(const spec::RunSpec& spec, std::span<const schedule::Program* const> programs);

}  // namespace ziggurat::plan
