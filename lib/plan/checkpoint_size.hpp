/// Sizes of checkpoints on disk.
#pragma once

#include <cstdint>

#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Sizes of the checkpoints of a run that saves.
struct CheckpointSize {
    std::int64_t bytes = 0;          ///< tensors of one checkpoint; metadata adds up to 4 KiB for each tensor
    std::int64_t kept = 0;           ///< maximum number that remains at the end
    std::int64_t bytes_kept = 0;     ///< bytes of those
    std::int64_t bytes_at_most = 0;  ///< bytes of those and of the one that is being written
};

/// Returns the sizes of a run's checkpoints, over all ranks and independent of the layout.
///
/// Trained tensors count with master weights and both moments in fp32, frozen tensors in the compute type.
CheckpointSize checkpoint_size(const spec::RunSpec& spec);

}  // namespace ziggurat::plan
