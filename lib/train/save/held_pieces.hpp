/// Pieces of the model's tensors that a rank's state is made of.
#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/piece.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "train/step/held_state.hpp"

namespace ziggurat::train {

/// A box of one tensor of one kind, and where a buffer of this rank holds it row by row.
struct HeldPiece {
    checkpoint::Piece piece;
    int buffer = -1;                ///< of the program
    std::int64_t offset_bytes = 0;  ///< in the buffer
    bool is_saved = false;          ///< this rank's to save: with those of all ranks, every element once
};

/// Part of each buffer that pieces are made of.
enum class PieceExtent {
    held,   ///< all of it; ranks that hold the same shard have the same pieces
    finest  ///< what remains when it is cut over the whole data axis: data ranks have nothing in common
};

/// Pieces of the persistent buffers of `program` whose kinds checkpoints keep: master weights (with f32
/// compute the parameters), both moments, frozen parameters. By buffer, then ascending. Neither padding
/// between parameters nor rows of padding are in any piece.
///
/// Collective: local; pure
std::vector<HeldPiece> held_pieces(const schedule::ModelLayout& model,
                                   const schedule::Program& program,
                                   PieceExtent extent);

/// A piece as what a checkpoint is written from, or read into: where it lies, whatever tier that is. `state`
/// must outlive it.
checkpoint::PieceSource source_at_home(const HeldState& state, HeldPiece held);
checkpoint::PieceTarget target_at_home(const HeldState& state, HeldPiece held);
/// Makes the piece zero, where it lies.
void fill_zero(const HeldState& state, const HeldPiece& held);

}  // namespace ziggurat::train
