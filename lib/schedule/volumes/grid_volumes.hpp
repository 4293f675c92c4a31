/// Bytes that a grid of tensor ranks sends between phases, in closed form.
#pragma once

#include <cstdint>

#include "schedule/model_layout.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Returns the bytes that a rank of a q x q grid sends over its row and its column in one step.
///
/// They are counted as in a ring: a broadcast or reduction of b bytes among q ranks sends b(1 - 1/q) on each
/// of them, averaged over the roots. Of q blocks this is (q - 1) b. A product with a block W of its weight
/// and a block Y of its output moves, for each micro-batch,
///
///     forward    (q - 1)(W + Y)        blocks of the weight; summands of the output
///     backward   (q - 1)(Y + W + W')   blocks of the output's gradient and of the weight; summands W' of the
///                                      weight's gradient, in fp32
///
/// These are the series of broadcasts and reductions of SUMMA, 6 (q - 1)/q in units of a row of blocks, less
/// one: the two products of backward share the blocks of the output's gradient. If a zero-bubble schedule
/// defers the gradients of weights, they are broadcast twice. Lookups move blocks of the
/// table, norms the sums of their rows, and the head the statistics of its losses. Adapters sum the products
/// of all A with the input one time in forward, and two times in backward with their gradients.
///
/// In a cube, a product of T tokens of its rank with parts I and O of the widths of its input and output
/// moves, in elements of the compute type,
///
///     forward    (q - 1) T (I + O)        the input is gathered; the output is reduced and scattered
///     backward   (q - 1) T (O + I + I)    the gradient of the output is gathered, that of the input reduced and
///                                         scattered, and the input gathered again instead of being saved
///
/// Weights are gathered and their gradients reduced over the layers of the cube, as shards of the data axis
/// (Purpose::parameters, Purpose::gradients). All together, these are the 6 (q - 1)/q^3 of the table of modes
/// and 2 (q - 1)/q^3 more, because backward gathers inputs and weights again.
///
/// \pre the tensor ranks are a grid
std::int64_t grid_bytes_by_formula(const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
