/// Fusion of residual sums with the products of their branches.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// On GPUs with precision.compute bf16, fuses residual sums with the products before them.
///
/// The product adds the residual stream to its sums in fp32 and stores the result, so the branch is neither
/// written nor read. A fused product has one more operand, Role::addend, and writes the sum. A norm after the
/// sum reads it as its input.
///
/// Not fused: branches with dropout, a constant factor, adapters, a norm or a sum over ranks after the
/// product, and tiled products.
///
/// Numerics: the branch is not rounded before the sum, so the bits differ from those of separate ops.
///
/// Runs before recompute_pass, which then saves the sum instead of the branch.
void fuse_residual_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
