/// Launches and bytes of kernels on a GPU, unit by unit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/gpu/kernel_traffic.hpp"

namespace ziggurat::plan {

/// Kernels of one unit in one pass.
struct PassKernels {
    std::int64_t launches = 0;
    std::int64_t bytes = 0;  ///< moved by kernels other than products and attention

    bool operator==(const PassKernels&) const = default;
};

struct UnitKernels {
    std::string unit;
    PassKernels forward;   ///< for the first micro-batch of a step
    PassKernels backward;  ///< for the same micro-batch, including recomputation

    std::int64_t launches() const noexcept { return forward.launches + backward.launches; }
    std::int64_t bytes() const noexcept { return forward.bytes + backward.bytes; }
};

struct KernelTable {
    std::int64_t activation_bytes = 0;  ///< tokens of a micro-batch on the rank x hidden x bytes of the type
    std::vector<UnitKernels> units;     ///< in order of first use
    PassKernels optimizer;              ///< one time per step: norms of gradients, updates
    PassKernels step;                   ///< all kernels of the step, for all micro-batches
};

KernelTable kernel_table(const spec::RunSpec& spec,
                         const schedule::ModelLayout& model,
                         const schedule::Program& program);

/// Returns the human-readable table. Adjacent units with equal work share a row.
std::string print_kernel_table(const KernelTable& table);

/// Returns the table as a member of a JSON object, for tools:
///
///     "kernels": {"activation_B": n,
///                 "units": [{"unit": name, "forward": {"launches": n, "moved_B": n}, "backward": ...}],
///                 "optimizer": {"launches", "moved_B"}, "step": {"launches", "moved_B"}}
std::string kernel_table_as_json(const KernelTable& table);

}  // namespace ziggurat::plan
