/// Log-probabilities of the reference model for the pairs of a run, and their file.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/element/preference_element.hpp"
#include "train/preference/reference_key.hpp"

namespace ziggurat::train {

/// Name of the file in the run directory.
inline constexpr std::string_view reference_scores_file = "reference.scores";

/// Log-probabilities of the reference model by number of pair. Empty without a preference objective.
class ReferenceScores {
  public:
    /// All scores are unknown.
    explicit ReferenceScores(std::int64_t num_pairs) : scores_(num_pairs, unknown) {}

    std::span<const kernels::AnswerSums> all() const noexcept { return scores_; }
    bool knows(std::int64_t pair) const { return !std::isnan(scores_.at(pair).chosen); }
    void set(std::int64_t pair, const kernels::AnswerSums& score) { scores_.at(pair) = score; }

    /// Makes all scores unknown. The addresses of all() stay valid.
    void forget() { std::ranges::fill(scores_, unknown); }

    /// Returns the scores as a file: a header of 48 bytes, then two float64 for each pair, NaN if unknown.
    std::string to_file(const ReferenceKey& key) const;

    /// Takes the scores from the content of a file. Returns the reason if it cannot be used; then nothing
    /// changes.
    ///
    /// \param key  its inputs and weights must be those of the file
    std::string take_file(std::string_view content, const ReferenceKey& key);

  private:
    static constexpr kernels::AnswerSums unknown{std::numeric_limits<double>::quiet_NaN(),
                                                 std::numeric_limits<double>::quiet_NaN()};
    std::vector<kernels::AnswerSums> scores_;
};

/// Returns the key in the content of a file; zeros if take_file() would not use it for any key.
ReferenceKey key_of_file(std::string_view content);

}  // namespace ziggurat::train
