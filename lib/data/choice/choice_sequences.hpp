/// Rows of multiple-choice tasks, packed into sequences of one length, as batches.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/batch.hpp"
#include "data/choice/choice_rows.hpp"

namespace ziggurat::data {

/// Packs rows into sequences.
///
/// Each sequence holds the largest number of rows that fits. Each row is a separate document: attention and
/// positions restart with it. The position of a row depends only on rows and length, so it is the same on any
/// number of ranks.
///
/// ```
/// sequence 0:  c c c e e | c c c e | . .      c: context, e: ending, .: unused
/// targets      . . e e e | . . e e | . .      counted targets; the last token of a row is only a target
/// ```
class ChoiceSequences {
  public:
    /// A row, and the position in its sequence of the losses of its ending, one for each token.
    struct Place {
        std::int64_t row = 0;
        std::int64_t first_loss = 0;
        std::int64_t losses = 0;
    };

    /// \param seq  tokens of a sequence, at least rows.longest_read()
    ChoiceSequences(ChoiceRows rows, std::int64_t seq);

    std::int64_t num_rows() const { return std::ssize(rows_.rows); }
    std::int64_t num_sequences() const { return std::ssize(first_row_) - 1; }

    /// Fills `batch` with sequences first, first + 1, ... of this length.
    ///
    /// Sequences beyond num_sequences() are fully masked.
    void fill(Batch& batch, std::int64_t first) const;

    /// Returns the rows of a sequence; empty beyond num_sequences().
    std::span<const Place> target_positions(std::int64_t sequence) const;

  private:
    void fill_sequence(Batch& batch, std::int64_t slot, std::int64_t sequence) const;

    ChoiceRows rows_;
    std::int64_t seq_;
    std::vector<std::int64_t> first_token_;  ///< by row, in rows_.tokens
    std::vector<std::int64_t> first_row_;    ///< by sequence, then the number of all rows
    std::vector<Place> places_;              ///< by row
};

}  // namespace ziggurat::data
