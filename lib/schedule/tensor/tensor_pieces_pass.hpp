/// Collectives on the tensor axis in pieces, concurrent with the products next to them.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// With overlap.tensor: ring, cuts tensor collectives and the adjacent products into pieces by rows.
///
/// A piece has the rows (tokens) of one tensor rank; in a cube, of one rank of the row that gathers or the
/// column that sums (expand_cube.cpp).
///
///     gather   all_gather before a product: one all_gather per piece, each with one rank's block. The product
///              becomes one op per piece. A rank begins with its own rows, which need no collective; the
///              others follow in rank order while later pieces arrive.
///     sum      reduce_scatter or all_reduce after a product: the product becomes one op per piece, in rank
///              order, and each is followed by the sum of its rows.
///
/// The pass covers products of forward, of its recomputation, and for gradients of inputs. It leaves a sum
/// whole if the product of a weight's gradient already hides it, and products for gradients of weights whole.
/// Collectives next to the product with the vocabulary are cut by cut_collectives_of_head.
/// So each element is the sum of the same terms in the same order of ranks.
///
/// The collectives of the axis have the same order on all ranks; only products differ in order. Does nothing
/// with one tensor rank. Runs after recompute_pass and fuse_gelu_pass, and before passes that look for the
/// first and last op of a unit.
///
/// Source: Wang et al., "Overlap Communication with Dependent Computation via Decomposition in Large Deep
/// Learning Models", 2023, section 4; Zhu et al., "NanoFlow", 2024.
/// Numerics: a product of fewer rows may add in another order, so results agree within a tolerance only.
void tensor_pieces_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
