/// Sum of squares for the global gradient norm, with bits independent of the order of addition.
#pragma once

#include "base/exact_sum.hpp"
#include "device/stream.hpp"
#include "kernels/launch/tensor_address.hpp"

namespace ziggurat::kernels {

/// Adds the squares of `gradient` to `into`. E: float, bfloat16.
///
/// Numerics: squares of bfloat16 elements are squares of their float values. Each block of 256 elements from
///           the start of the span gives one double: 32 lanes with a stride of 32, folded in halves. Blocks
///           are added exactly. The bits do not depend on the number of threads, nor on how the elements are
///           divided into spans at multiples of 256.
template <class E>
void sum_of_squares(const device::Stream& stream,
                    VectorAddress<const E> gradient,
                    ObjectAddress<ExactSum> into);

}  // namespace ziggurat::kernels
