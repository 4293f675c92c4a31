/// Rows of multiple-choice tasks in sequences of one length, as batches of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/batch.hpp"
#include "data/choice/choice_rows.hpp"

namespace ziggurat::data {

/// Lays rows one behind the other, as many as fit into each sequence, each a document of its own: attention
/// and positions begin anew with it. Which row lies where follows from rows and length alone, so that it is
/// the same on any number of ranks.
///
/// ```
/// sequence 0:  c c c e e | c c c e | . .      c: of a context, e: of an ending, .: nobody's
/// targets      . . e e e | . . e e | . .      those that count; the last token of a row is no input
/// ```
class ChoiceSequences {
  public:
    /// A row, and where in its sequence the losses of its ending lie, one for each token.
    struct Place {
        std::int64_t row = 0;
        std::int64_t first_loss = 0;
        std::int64_t losses = 0;
    };

    /// \param seq  tokens of a sequence, at least rows.longest_read()
    ChoiceSequences(ChoiceRows rows, std::int64_t seq);

    std::int64_t num_rows() const { return std::ssize(rows_.rows); }
    std::int64_t num_sequences() const { return std::ssize(first_row_) - 1; }

    /// Fills `batch`, of sequences of this length, with sequences first, first + 1, ...; those beyond
    /// num_sequences() are masked whole.
    void fill(Batch& batch, std::int64_t first) const;

    /// The rows of a sequence; none beyond num_sequences().
    std::span<const Place> places(std::int64_t sequence) const;

  private:
    void fill_sequence(Batch& batch, std::int64_t slot, std::int64_t sequence) const;

    ChoiceRows rows_;
    std::int64_t seq_;
    std::vector<std::int64_t> first_token_;  ///< by row, in rows_.tokens
    std::vector<std::int64_t> first_row_;    ///< by sequence, and the number of all rows
    std::vector<Place> places_;              ///< by row
};

}  // namespace ziggurat::data
