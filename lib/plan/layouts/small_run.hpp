/// Small runs, from whose programs the bounds of layouts are read.
#pragma once

#include <cstdint>

#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Returns the run with few layers on its tensor and context ranks and up to `data` data ranks.
///
/// All state is on the device. Each stage has one chunk, and `layers` layers. If train.only distinguishes
/// layers, only those tensors of layers are trained that train in every layer: bounds must hold for all
/// layers.
spec::RunSpec small_run(const spec::RunSpec& run, int stages, std::int64_t layers, int data);

}  // namespace ziggurat::plan
