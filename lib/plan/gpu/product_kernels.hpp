/// Kernels around the products of weights: sums for biases, adapters, and columns of tiles.
#pragma once

#include <vector>

#include "layout/families/family.hpp"
#include "plan/gpu/kernel_traffic.hpp"
#include "plan/gpu/op_operands.hpp"

namespace ziggurat::plan {

/// Returns the kernels of a product.
///
/// \param element_bytes  size of an element of the compute type
/// \param lora_rank      rank of the adapters, if the phase has any
std::vector<KernelUse> product_kernels(const OpOperands& use,
                                       const layout::Phase& phase,
                                       std::int64_t element_bytes,
                                       std::int64_t lora_rank);

/// Returns the kernels of a product with the gradient of the gated unit before it.
///
/// \param is_fused  they are one kernel of cuDNN
std::vector<KernelUse> glu_product_kernels(const OpOperands& use, layout::PhaseKind unit, bool is_fused);

}  // namespace ziggurat::plan
