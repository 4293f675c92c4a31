/// Fusion of recomputed gated linear units with their gradients.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// True if `op` computes SwiGLU or GEGLU, or their gradient.
bool is_glu(const Op& op, const ModelLayout& model);

/// True if `reader` can read an output that a gradient has computed again.
///
/// It is then a whole product for the gradient of a weight, and not in a slot Pass::backward_weight.
bool can_follow_glu_gradient(const Op& reader, const ModelLayout& model);

/// Makes the gradient of SwiGLU or GEGLU compute their output again.
///
/// The gradient reads the inputs of the unit anyway, so this recomputation only adds a write. The clone of
/// the forward op is removed. The gradient writes the output over the gradient that it reads
/// (Role::activated), and the products that read the output follow it. If the inputs are recomputed too,
/// their gradient overwrites them.
///
/// Not fused: units whose output clones read (recompute.every), tiled products, products in a slot
/// Pass::backward_weight, and blocks of grids.
///
/// Numerics: the bits are those of separate ops.
///
/// Runs after recompute_pass, which makes the clones.
void fuse_glu_pass(ProgramBuilder& draft, const ModelLayout& model);

}  // namespace ziggurat::schedule
