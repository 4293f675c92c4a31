/// Sum of squares for the global norm, whose bits do not depend on who adds what.
#pragma once

#include "base/exact_sum.hpp"
#include "device/stream.hpp"
#include "kernels/tensor_address.hpp"

namespace ziggurat::kernels {

/// Adds the squares of `gradient` to `into`. E: float, bfloat16.
///
/// Numerics: those of bfloat16 elements are the squares of their floats. Each block of 256 elements from the
///           start of the span gives one double: 32 lanes with a stride of 32, folded in halves; blocks are
///           added exactly. The same bits for any number of threads and for any cut of the elements into
///           spans at multiples of 256.
template <class E>
void sum_of_squares(const device::Stream& stream,
                    VectorAddress<const E> gradient,
                    ObjectAddress<ExactSum> into);

}  // namespace ziggurat::kernels
