/// Log-probabilities of the reference model for the pairs of a run, and their file.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/context.hpp"
#include "data/fingerprint.hpp"
#include "kernels/element/preference_element.hpp"
#include "spec/run_spec.hpp"

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

    /// Returns the scores as a file: a header of 32 bytes, then two float64 for each pair, NaN if unknown.
    ///
    /// \param key  of reference_key()
    std::string to_file(std::uint64_t key) const;

    /// Takes the scores from the content of a file. Returns the reason if it cannot be used; then nothing
    /// changes.
    std::string take_file(std::string_view content, std::uint64_t key);

  private:
    static constexpr kernels::AnswerSums unknown{std::numeric_limits<double>::quiet_NaN(),
                                                 std::numeric_limits<double>::quiet_NaN()};
    std::vector<kernels::AnswerSums> scores_;
};

/// Returns a hash of everything that the scores depend on.
///
/// This is the reference model, the precision, the data, and the cut of long samples.
///
/// \param files  of all sources, in order
std::uint64_t reference_key(const spec::RunSpec& spec, std::span<const data::FileFingerprint> files);

}  // namespace ziggurat::train
