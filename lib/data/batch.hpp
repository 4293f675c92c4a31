/// A batch as a model reads it: tokens, targets, positions, documents.
#pragma once

#include <cstdint>
#include <vector>

namespace ziggurat::data {

/// Some sequences of one length; allocated once, refilled for every micro-batch.
struct Batch {
    Batch(std::int64_t batch, std::int64_t seq);

    std::int64_t batch;
    std::int64_t seq;
    std::vector<std::int32_t> tokens;           ///< [batch, seq]
    std::vector<std::int32_t> targets;          ///< [batch, seq] the token after each
    std::vector<std::uint8_t> mask;             ///< [batch, seq] 1: this target counts in the loss
    std::vector<std::int32_t> document_starts;  ///< [batch, seq] where in its sequence the first token stands
                                                ///< that each may attend to
    std::vector<std::int32_t>
        positions;                      ///< [batch, seq] distance from there; without documents 0 .. seq - 1
    std::vector<std::int64_t> samples;  ///< [batch] global index; -1: no sample, all of it masked
    std::int64_t num_targets = 0;       ///< ones in mask
};

}  // namespace ziggurat::data
