/// Division of samples into sequences.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// Samples by sequence.
struct PackedSamples {
    std::vector<std::int64_t> samples;    ///< sequence after sequence, ascending in each
    std::vector<std::int64_t> begins{0};  ///< of each sequence in `samples`, and the end of the last one
    std::int64_t num_cut = 0;             ///< samples of more than `seq` tokens that are shortened
    std::int64_t num_dropped = 0;         ///< samples of more than `seq` tokens that are left out
    std::int64_t num_without_target = 0;  ///< shortened samples without a counted token; set by PackedSource
    std::int64_t num_without_flag = 0;  ///< samples without a counted token, also if whole; set by it as well

    std::int64_t num_sequences() const noexcept { return std::ssize(begins) - 1; }
    std::span<const std::int64_t> samples_of(std::int64_t sequence) const {
        return std::span{samples}.subspan(begins[sequence], begins[sequence + 1] - begins[sequence]);
    }
};

/// Assigns whole samples to sequences of `seq` tokens.
///
/// best_fit: samples are taken by decreasing length, and each goes to the sequence with the smallest room
/// that is enough, else to a new one. `none`: each sample has a sequence of its own. Sequences are numbered
/// by their first sample, so that their order is close to that of the samples. The result depends only on the
/// arguments.
///
/// Source: Johnson, "Near-optimal bin packing algorithms", 1973; for sequences Ding et al., "Fewer
///         truncations improve language modeling", 2024, section 3
///
/// \param lengths  tokens of each sample
/// \param packing  none or best_fit
/// \param rule     cut or drop, for longer samples; with refuse they must not exist
PackedSamples pack(std::span<const std::int64_t> lengths,
                   std::int64_t seq,
                   spec::SamplePacking packing,
                   spec::LongSamples rule);

}  // namespace ziggurat::data
