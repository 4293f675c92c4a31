/// Fusion of recomputed gated linear units with their gradients.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// True if a gradient of SwiGLU or GEGLU can compute for `reader` what `reader` reads of the output: it is a
/// whole product for the gradient of a weight, and not in a slot Pass::backward_weight.
bool can_follow_glu_gradient(const Op& reader);

/// Makes the gradient of SwiGLU or GEGLU compute their output again, if only products for gradients of
/// weights need it.
///
/// The gradient reads the inputs of the unit anyway, so recomputation reads nothing more. The clone of the
/// forward op is removed. The gradient writes the output over the gradient that it reads (Role::activated),
/// and the products that read the output follow it. If the inputs are also recomputed, it writes their gradient
/// over them.
///
/// Not fused: units whose output is also read by clones (recompute.every), tiled products, products in a
/// slot Pass::backward_weight, and blocks of grids.
///
/// Numerics: the bits are those of separate ops.
///
/// Runs after recompute_pass, which makes the clones.
void fuse_glu_pass(ProgramBuilder& draft, const ModelLayout& model);

}  // namespace ziggurat::schedule
