/// Check for runs that this program can plan but not train.
#pragma once

#include <string>

#include "device/built_for.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// Returns the reason why this program cannot train `run` although it fits; empty if it can.
inline std::string not_by_this_program_reason(const spec::RunSpec& run) {
    return run.tiers.device == spec::DeviceKind::cuda && !device::has_cuda
               ? "but this program trains on no GPU (built without CUDA)"
               : "";
}

}  // namespace ziggurat::app
