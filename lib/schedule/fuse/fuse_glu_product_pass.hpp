/// Fusion of the gradients of gated linear units with the products before them.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Fuses the gradient of SwiGLU or GEGLU with the product before it.
///
/// The product computes the gradient of the unit's output. The pass fuses them on GPUs, with
/// precision.compute bf16 and precision.products measured or fused.
///
/// The gradient of the output is then neither written nor read (kernels::GluProduct). A fused op keeps the
/// phase of its product. It reads the input of the unit, Role::activation_input, and its Role::d_input is
/// the gradient of that input, which has twice the width. If the gradient computes the output again
/// (fuse_glu_pass), the product does, as Role::activated.
///
/// Not fused: products with adapters, tiled products, blocks of grids, and gradients that overwrite the input
/// of their unit (recompute.kind full).
///
/// Numerics: the gradient of the output is not rounded, so the bits differ from those of separate ops.
///
/// Runs after fuse_glu_pass.
void fuse_glu_product_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
