/// Comparison of two checkpoints: tensors, progress and decks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/catalogue/deck_changes.hpp"
#include "checkpoint/catalogue/tensor_list.hpp"
#include "checkpoint/checkpoint_reader.hpp"

namespace ziggurat::checkpoint {

enum class TensorVerdict {
    same,           ///< equal shape, type and bits
    other_numbers,  ///< equal shape; the figures give the size of the difference
    other_type,     ///< equal shape; the figures compare the values, which may be equal
    other_shape,    ///< values are not compared
    only_in_first,
    only_in_second,
};

/// Difference of one tensor of one kind between two checkpoints. Figures are of second minus first.
struct TensorDifference {
    PieceKind kind = PieceKind::weights;
    std::string name;
    TensorVerdict verdict = TensorVerdict::same;
    std::vector<std::int64_t> shape;        ///< in the first, or in the second if only that has the tensor
    std::vector<std::int64_t> other_shape;  ///< in the second, if it differs
    std::int64_t elements = 0;
    std::int64_t differing = 0;  ///< elements whose bits differ
    std::int64_t nonfinite = 0;  ///< differing elements with NaN or infinity on a side; not in the figures
    double largest_absolute = 0;
    double largest_relative = 0;  ///< |b - a| over the larger of |a| and |b|
    double norm = 0;              ///< norm of the difference
    double relative_norm = 0;     ///< `norm` over the norm of the first; infinite if that is zero
};

/// Result of compare().
struct Comparison {
    std::vector<TensorDifference> tensors;  ///< every tensor of either, in the order of stored_tensors()
    bool is_same_progress = true;
    std::vector<DeckChange> deck;  ///< from the first to the second
    bool is_deck_readable = true;  ///< false: this version cannot read a deck; only the texts were compared

    bool are_tensors_same() const;
    /// True for equal state of equal training progress. Layouts and other keys of the decks are ignored.
    bool is_same() const { return are_tensors_same() && is_same_progress; }
};

/// Compares two checkpoints tensor by tensor, in blocks. At most two blocks are in memory at a time.
///
/// \param progress  called after each tensor with bytes done and bytes in all; may be empty
/// Collective: local
/// Errors:     those of CheckpointReader::read
Comparison compare(CheckpointReader& first,
                   CheckpointReader& second,
                   const std::function<void(std::int64_t, std::int64_t)>& progress = {});

}  // namespace ziggurat::checkpoint
