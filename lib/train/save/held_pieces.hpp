/// Pieces of the model's tensors in the state of a rank.
#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/piece.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "train/step/state_view.hpp"

namespace ziggurat::train {

/// A box of one tensor of one kind, and the location of its rows in a buffer of this rank.
struct PieceView {
    checkpoint::Piece piece;
    schedule::BufferId buffer = -1;  ///< buffer of the program
    std::int64_t offset_bytes = 0;   ///< offset in the buffer
    bool is_saved = false;           ///< this rank saves it; over all ranks, each element is saved once
};

/// Part of each buffer that pieces cover.
enum class PieceExtent {
    held,   ///< the whole buffer; ranks that hold the same shard have the same pieces
    finest  ///< this rank's shard over the whole data axis; data ranks have no elements in common
};

/// Returns the pieces of the persistent buffers of `program` that checkpoints store.
///
/// Their kinds are master weights (with f32 compute the parameters), both moments, and frozen parameters.
/// They are sorted by buffer, then by offset. Padding between parameters and padding rows are not included.
///
/// Collective: local; pure
std::vector<PieceView> held_pieces(const schedule::ModelLayout& model,
                                   const schedule::Program& program,
                                   PieceExtent extent);

/// Returns a piece as source or target of a checkpoint. Its bytes stay in their home, on any tier.
///
/// `state` must outlive the result.
checkpoint::PieceSource source_at_home(const StateView& state, PieceView held);
checkpoint::PieceTarget target_at_home(const StateView& state, PieceView held);
/// Sets the piece to zero in its home.
void fill_zero(const StateView& state, const PieceView& held);

}  // namespace ziggurat::train
