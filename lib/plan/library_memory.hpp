/// Memory of a rank's device that lies in no arena of the plan.
#pragma once

#include <cstdint>
#include <span>

#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

struct LibraryMemory {
    std::int64_t kernels = 0;  ///< what layout::Workspaces::libraries says
    /// Reserved by comm/nccl for sums that are made of received pieces; exact. Vectors in collectives of
    /// programs lie in the device tier, and need nothing else.
    std::int64_t exchange = 0;
    std::int64_t communicators = 0;  ///< an allowance for what NCCL's keep, where parallel.transport is nccl

    std::int64_t total() const noexcept { return kernels + exchange + communicators; }
};

/// Of a rank that runs these programs, which have collectives of their own each.
LibraryMemory library_memory(const spec::RunSpec& spec, std::span<const schedule::Program* const> programs);

}  // namespace ziggurat::plan
