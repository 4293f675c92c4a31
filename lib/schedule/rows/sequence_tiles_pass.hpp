/// MLPs in tiles along the sequence.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// With tiers.sequence_tiles, computes each MLP in tiles of nearly equal numbers of rows (tokens).
///
/// An MLP is a product, its activation and the product that follows. One tile runs through all three before
/// the next, so values between them need memory for one tile only:
///
///     forward    up, activation and down of each tile
///     backward   these ops again, if recomputed; then all backward products of the tile. Gradients of the
///                weights are added over tiles.
///
/// A value between the products that is saved for backward keeps its full size. So does one that another op
/// between those of the MLP needs, such as the norm after the MLP of Gemma 2. Collectives of the tensor axis
/// stay whole, before the first tile and after the last.
///
/// On a grid or cube of tensor ranks, collectives lie inside the MLP. Each tile sends its own rows of the
/// activations. Blocks of weights of a grid are broadcast one time, before the first tile, and kept until the
/// last one; their gradients are added over tiles and then reduced. So a step sends the bytes of whole MLPs.
/// In a cube, the MLP stays whole if an op outside of it, such as a deferred weight product, needs a value
/// that ranks gather for the MLP.
///
/// The head needs no such tiles: its logits are always in blocks of rows. Runs after the passes that write
/// or cut ops of MLPs, and before passes that look for the first and last op of a unit.
///
/// Source: Bekman et al., "Arctic Long Sequence Training", 2025, section 3.1 (TiledMLP).
/// Numerics: gradients of weights are sums over tiles, and a product of fewer rows may add in another order, so
/// results agree within a tolerance only.
void sequence_tiles_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
