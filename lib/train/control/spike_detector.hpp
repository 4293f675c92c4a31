/// Spikes of loss and gradient norm, by how far they lie above those of the latest steps.
#pragma once

#include <cstdint>
#include <span>

#include "checkpoint/manifest.hpp"
#include "spec/run_spec.hpp"
#include "train/step/step_outcome.hpp"

namespace ziggurat::train {

/// Standard deviations above the mean of the window.
struct SpikeScores {
    double loss = 0;
    double grad_norm = 0;
};

/// Judges steps by a window of the latest ones that were no spikes.
///
/// A step is a spike when its loss or its gradient norm lies more than `z` standard deviations above the mean
/// of the window; only a full window judges. A deviation below a thousandth of the mean counts as that, so
/// that a curve without noise is not all spikes. Spikes do not enter the window; after `most_in_a_row` of
/// them the level has changed for good, and the window begins anew.
///
/// Source:     Chowdhery et al., "PaLM", 2022, section 5.1, for what is done about spikes; the score is the
/// usual z-score Collective: local; the same on all ranks, which know loss and norm alike Numerics:   sums in
/// the order of steps, so that a run that goes on judges as one that was never stopped
class SpikeDetector {
  public:
    static constexpr std::int64_t most_in_a_row = 8;

    /// \param recent  of the run that goes on
    SpikeDetector(const spec::Spikes& spikes, checkpoint::RecentSteps recent);

    /// Above which the next step is a spike; of its loss over so many target tokens.
    SpikeLimits limits(std::int64_t targets) const;
    /// Of a step against the window; zeros before it is full.
    SpikeScores scores(double loss, double grad_norm) const;
    /// One step more, with finite values. No allocation.
    void note(double loss, double grad_norm, bool is_spike);
    /// For the checkpoint.
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
