/// GELU becomes a part of the products next to it.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// On GPUs with precision.compute bf16, merges the tanh form of GELU into the product before it (forward) and
/// its gradient into the product after it (backward): cuBLASLt computes both in one pass, so the activation
/// is neither read nor written once more. A merged op keeps the phase of its product and has one operand
/// more, Role::activated or Role::activation_input.
///
/// With recompute.kind selective, forward is not merged: backward computes GELU again without its product,
/// and a merged one gets the sums before they are rounded. Products with adapters, and products that are cut
/// into tiles, are not merged.
///
/// Numerics: not the bits of separate ops, so on GPUs `selective` and the other kinds of recomputation
/// differ.
///
/// Runs after recompute_pass, which clones ops by their phase.
void fuse_gelu_pass(Draft& draft, const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
