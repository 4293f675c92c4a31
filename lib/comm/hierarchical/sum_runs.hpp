/// Sums whose addends are of several kinds: inputs as members wrote them, and partial sums of whole runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/node/shared_sum.hpp"
#include "spec/dtype.hpp"

namespace ziggurat::comm {

/// One vector to be added.
struct Addend {
    const std::byte* at = nullptr;
    spec::DType type = spec::DType::f32;
    bool begins_run = false;  ///< of the first always true
};

/// output[i] = sum over runs of (sum over the run's addends), each from left to right, for the elements i in
/// [begin, end): `fold`, where some runs may have been summed before.
///
/// Shapes:    addends [addends][elements] of their types, output [elements] of `type`
/// Numerics:  fp32, rounded once to `type`; a single addend of that type is copied bit for bit
/// Aliasing:  output may be one of the addends of its own type
void sum_runs(std::span<const Addend> addends,
              std::byte* output,
              spec::DType type,
              std::int64_t begin,
              std::int64_t end,
              Stores stores = Stores::ordinary);

}  // namespace ziggurat::comm
