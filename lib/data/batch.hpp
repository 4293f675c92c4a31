/// A batch of model input: tokens, targets, positions, documents.
#pragma once

#include <cstdint>
#include <vector>

namespace ziggurat::data {

/// Rows of a batch that a pair of answers has; row r is token r % seq of sequence r / seq.
///
/// The rejected answer follows the chosen one directly.
struct RowsOfPair {
    std::int32_t chosen = 0;    ///< first row of the chosen answer
    std::int32_t rejected = 0;  ///< first row of the rejected answer
    std::int32_t end = 0;       ///< row after its last one

    bool operator==(const RowsOfPair&) const = default;
};

/// Sequences of one length. Allocated once and refilled for every micro-batch.
struct Batch {
    Batch(std::int64_t batch, std::int64_t seq);

    std::int64_t batch;
    std::int64_t seq;
    std::vector<std::int32_t> tokens;   ///< [batch, seq]
    std::vector<std::int32_t> targets;  ///< [batch, seq] the next token of each token
    std::vector<std::uint8_t> mask;     ///< [batch, seq] 1: this target counts in the loss
    /// [batch, seq] position in its sequence of the first token that each token may attend to
    std::vector<std::int32_t> document_starts;
    /// [batch, seq] distance from that position; without documents 0 .. seq - 1
    std::vector<std::int32_t> positions;
    std::vector<std::int64_t> samples;  ///< [batch] global index; -1: no sample, fully masked
    std::int64_t num_targets = 0;       ///< number of ones in mask
    /// Pairs of answers, in the order of their rows; up to batch * (seq / spec::min_pair_tokens).
    std::vector<RowsOfPair> pairs;
    std::vector<std::int64_t> pair_numbers;  ///< of each pair of `pairs`, unique over all sources
};

}  // namespace ziggurat::data
