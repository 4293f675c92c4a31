/// Comparison of two checkpoints: tensors, progress and decks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/deck_changes.hpp"
#include "checkpoint/tensor_list.hpp"

namespace ziggurat::checkpoint {

enum class TensorVerdict {
    same,           ///< equal shape, type and bits
    other_numbers,  ///< equal shape; the figures say how far apart
    other_type,     ///< equal shape; the figures compare the numbers, which may be equal
    other_shape,    ///< nothing to compare
    only_in_first,
    only_in_second,
};

/// One tensor of one kind in both checkpoints. Figures are of second minus first.
struct TensorDifference {
    PieceKind kind = PieceKind::weights;
    std::string name;
    TensorVerdict verdict = TensorVerdict::same;
    std::vector<std::int64_t> shape;        ///< of the first, where it has the tensor
    std::vector<std::int64_t> other_shape;  ///< of the second, where it has another
    std::int64_t elements = 0;
    std::int64_t differing = 0;  ///< elements with other bits
    std::int64_t nonfinite = 0;  ///< of these, with a NaN or an infinity on either side; not in the figures
    double largest_absolute = 0;
    double largest_relative = 0;  ///< |b - a| over the larger of |a| and |b|
    double norm = 0;              ///< of the difference
    double relative_norm = 0;     ///< over the norm of the first; infinite when that is zero
};

/// All of it.
struct Comparison {
    std::vector<TensorDifference> tensors;  ///< every tensor of either, in the order of stored_tensors
    bool is_same_progress = true;
    std::vector<DeckChange> deck;  ///< from the first to the second
    bool is_deck_readable = true;  ///< false: a deck is none of this version, and only its text was compared

    bool are_tensors_same() const;
    /// The same state of the same training. How it was spread, and what else its deck says, does not count.
    bool is_same() const { return are_tensors_same() && is_same_progress; }
};

/// Compares tensor by tensor, in blocks: two blocks are in memory, whatever the checkpoints' sizes.
///
/// \param progress  called after each tensor with bytes done and bytes in all; may be empty
/// Collective: local
/// Errors:     those of CheckpointReader::read
Comparison compare(CheckpointReader& first,
                   CheckpointReader& second,
                   const std::function<void(std::int64_t, std::int64_t)>& progress = {});

}  // namespace ziggurat::checkpoint
