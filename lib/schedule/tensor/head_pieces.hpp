/// Pieces of the collectives next to the product with the vocabulary, which has blocks of rows already.
#pragma once

#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Cuts the gather of the head's input, and the sum of its gradient, into one piece per tensor rank.
///
/// A piece of the gather follows the statistics of the block before the first one that reads its rows, so
/// that it overlaps with the losses and gradients of that block. A piece of the sum follows the last block
/// that adds to its rows. Does nothing to a head of one block. Products stay as they are, so results have the
/// same bits.
///
/// Part of tensor_pieces_pass.
void cut_collectives_of_head(Program& program, const ModelLayout& model);

}  // namespace ziggurat::schedule
