/// Spikes of loss and gradient norm, detected by comparison with the latest steps.
#pragma once

#include <cstdint>
#include <span>

#include "checkpoint/manifest.hpp"
#include "spec/run_spec.hpp"
#include "train/step/step_outcome.hpp"

namespace ziggurat::train {

/// Scores of a step: standard deviations above the mean of the window.
struct SpikeScores {
    double loss = 0;
    double grad_norm = 0;
};

/// Detects spikes by comparison with a window of the latest steps that were not spikes.
///
/// A step is a spike if its loss or its gradient norm is more than `z` standard deviations above the mean of
/// the window. Only a full window is used. The deviation is at least a thousandth of the mean, so that a
/// curve without noise does not consist of spikes. Spikes do not enter the window. After `max_in_a_row`
/// spikes the level is assumed to have changed permanently, and the window is cleared.
///
/// Source: Chowdhery et al., "PaLM", 2022, section 5.1, for the handling of spikes; the score is the usual
/// z-score
/// Collective: local; the same on all ranks, because all have the same loss and norm
/// Numerics: sums in the order of steps, so that a resumed run gets the same results as an uninterrupted one
class SpikeDetector {
  public:
    static constexpr std::int64_t max_in_a_row = 8;

    /// \param recent  window of the resumed run
    SpikeDetector(const spec::Spikes& spikes, checkpoint::RecentSteps recent);

    /// Returns the limits above which the next step is a spike. Its loss is a sum over `targets` tokens.
    SpikeLimits limits(std::int64_t targets) const;
    /// Returns the scores of a step; zeros if the window is not full.
    SpikeScores scores(double loss, double grad_norm) const;
    /// Adds a step with finite values. No allocation.
    void note(double loss, double grad_norm, bool is_spike);
    /// Returns the window, for the checkpoint.
    const checkpoint::RecentSteps& recent() const noexcept { return recent_; }

  private:
    struct Level {
        double mean = 0, deviation = 0;
    };
    static Level level_of(std::span<const double> values);
    bool is_full() const;

    spec::Spikes spikes_;
    checkpoint::RecentSteps recent_;
};

}  // namespace ziggurat::train
