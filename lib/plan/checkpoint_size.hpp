/// Sizes of checkpoints on disk.
#pragma once

#include <cstdint>

#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// The checkpoints of a run that saves.
struct CheckpointSize {
    std::int64_t bytes = 0;  ///< of one: the tensors; their places and descriptions take up to 4 KiB each
    std::int64_t kept = 0;   ///< that stay at the end, at most
    std::int64_t bytes_kept = 0;     ///< of these
    std::int64_t bytes_at_most = 0;  ///< and of the one that is being written
};

/// Master weights and both moments of what is trained, in fp32; what is frozen in the compute type. All ranks
/// together, whatever the layout.
CheckpointSize checkpoint_size(const spec::RunSpec& spec);

}  // namespace ziggurat::plan
