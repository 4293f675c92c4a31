/// Normally distributed initial values that do not depend on the layout.
#pragma once

#include <cstdint>

#include "device/stream.hpp"
#include "kernels/launch/tensor_address.hpp"

namespace ziggurat::kernels {

/// An unbounded tensor of normally distributed numbers.
///
/// Element (row, column) depends only on the seed, the tensor's key and its global position, so every rank
/// can compute any part of it.
struct NormalField {
    std::uint64_t seed = 0;
    std::uint64_t tensor = 0;  ///< key of the tensor; different for each tensor
    float std = 1;
};

/// Position of a local row-major tensor in the global tensor.
struct LocalWindow {
    std::int64_t columns = 1;  ///< of the local tensor
    std::int64_t first_row = 0;
    std::int64_t first_column = 0;
};

/// Writes values[i] = the field at local element begin + i.
///
/// Runs only on the host, because the bits depend on its elementary functions.
///
/// Source:   Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011 (Philox); Box and Muller,
/// 1958
/// Numerics: four values from one call of Philox with the counter (column / 4, row, tensor)
void fill_normal(const device::Stream& stream,
                 const NormalField& field,
                 const LocalWindow& window,
                 std::int64_t begin,
                 VectorAddress<float> values);

}  // namespace ziggurat::kernels
