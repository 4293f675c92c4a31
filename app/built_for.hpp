/// Runs that this program plans and does not train.
#pragma once

#include <string>

#include "device/built_for.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// In a few words, why this program does not train `run` though it fits its machine; empty where it does.
inline std::string why_not_by_this_program(const spec::RunSpec& run) {
    return run.tiers.device == spec::DeviceKind::cuda && !device::has_cuda
               ? "but this program trains on no GPU (built without CUDA)"
               : "";
}

}  // namespace ziggurat::app
