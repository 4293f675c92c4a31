/// Fusion of GELU with the adjacent products.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// On GPUs with precision.compute bf16, fuses the tanh form of GELU with adjacent products.
///
/// GELU is fused into the product before it (forward), and its gradient into the product after it
/// (backward). cuBLASLt computes both in one kernel, so the activation is not read and written again. A
/// fused op keeps the phase of its product and has one more operand: Role::activated or
/// Role::activation_input.
///
/// With recompute.kind selective, or with recomputation by recompute.fates, forward is not fused: backward
/// may recompute GELU without its product, and a fused GELU reads sums that are not yet rounded. Products
/// with adapters and tiled products are not fused.
///
/// Numerics: the results differ in bits from separate ops. On GPUs, `selective` and recomputation by fates
/// therefore differ from the other kinds of recomputation.
///
/// Runs after recompute_pass, which clones ops by their phase.
void fuse_gelu_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
