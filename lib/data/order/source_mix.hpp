/// Mix of several sources: selects the source of each sample.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ziggurat::data {

/// Distributes samples over sources in proportion to their weights, as evenly as integers allow.
///
/// Source 0 gets round(k w0 / (w0 + w1 + ...)) of the first k samples. The others share the rest by the same
/// rule. The source of a sample and the number of earlier samples of that source are closed forms of its
/// index, without randomness or state.
class SourceMix {
  public:
    /// \param weights  one per source, not negative, not all zero
    explicit SourceMix(std::span<const double> weights);

    struct Pick {
        int source = 0;
        std::int64_t index = 0;  ///< number of earlier samples of this source
        bool operator==(const Pick&) const = default;
    };
    Pick pick(std::int64_t sample) const;

    /// Returns the number of samples of each source among samples 0 .. samples - 1.
    std::vector<std::int64_t> counts(std::int64_t samples) const;

  private:
    // For each source except the last: share of the rest after earlier sources, in 2^-32.
    std::vector<std::uint64_t> shares_;
};

}  // namespace ziggurat::data
