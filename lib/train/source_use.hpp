/// Use of the training sources: samples of each step, totals, shares and epochs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/order/sample_order.hpp"
#include "spec/run_spec.hpp"
#include "train/account/step_report.hpp"

namespace ziggurat::train {

/// Follows the order of the samples step by step. Allocates no memory after its construction.
class SourceUse {
  public:
    /// \param sources      sources of the order, with names
    /// \param next_sample  global index of the first sample of the next step
    SourceUse(const data::DataOrderState& order,
              std::span<const spec::Source> sources,
              std::int64_t next_sample);

    /// Adds the samples of a step, up to the first sample of the next one.
    void add_step(std::int64_t next_sample);

    /// Returns the samples of each source; of no source before the first step.
    std::span<const SourceSamples> by_source() const noexcept { return by_source_; }
    /// Returns the sources that began an epoch in the latest step, except their first epoch.
    std::span<const BegunEpoch> begun() const noexcept { return {begun_.data(), num_begun_}; }
    /// Returns the number of samples of each source since the first sample of the order.
    const std::vector<std::int64_t>& counts() const noexcept { return counts_; }

  private:
    /// Shares of the samples from `sample` on.
    struct Shares {
        std::int64_t sample = 0;
        std::vector<double> of_sources;
    };

    /// Returns the latest epoch of which a sample was used; -1: no sample was used.
    std::int64_t epoch_of(std::size_t source) const;

    data::TrainingOrder order_;
    std::vector<Shares> shares_;
    std::size_t range_ = 0;  ///< in shares_
    std::vector<std::int64_t> earlier_;
    std::vector<std::int64_t> counts_;
    std::vector<std::int64_t> epochs_;
    std::vector<SourceSamples> by_source_;
    std::vector<BegunEpoch> begun_;  ///< the first num_begun_ are valid
    std::size_t num_begun_ = 0;
    std::int64_t next_sample_ = 0;
};

}  // namespace ziggurat::train
