/// Normally distributed initial values that do not depend on the layout.
#pragma once

#include <cstdint>

#include "device/stream.hpp"
#include "kernels/tensor_address.hpp"

namespace ziggurat::kernels {

/// A tensor of normal numbers without end: element (row, column) is a function of the seed, the tensor's key
/// and its global place alone, so every rank computes any part of it.
struct NormalField {
    std::uint64_t seed = 0;
    std::uint64_t tensor = 0;  ///< unlike for each tensor
    float std = 1;
};

/// How a local row-major tensor lies in the global one.
struct LocalWindow {
    std::int64_t columns = 1;  ///< of the local tensor
    std::int64_t first_row = 0;
    std::int64_t first_column = 0;
};

/// values[i] = the field at local element begin + i. Of the host alone, whose elementary functions give it
/// its bits.
///
/// Source:   Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011 (Philox); Box and Muller,
/// 1958 Numerics: four values from one call of Philox with the counter (column / 4, row, tensor)
void fill_normal(const device::Stream& stream,
                 const NormalField& field,
                 const LocalWindow& window,
                 std::int64_t begin,
                 VectorAddress<float> values);

}  // namespace ziggurat::kernels
