/// Mix of several sources: the one that each sample comes from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ziggurat::data {

/// Deals samples to sources in proportion to their weights, as evenly as whole numbers allow.
///
/// Of the first k samples, source 0 gets round(k w0 / (w0 + w1 + ...)); what remains is dealt to the others
/// by the same rule. So the source of a sample, and how many samples that source gave before, are closed
/// forms of its index: nothing is random and nothing is remembered.
class SourceMix {
  public:
    /// \param weights  one per source, none negative, not all zero
    explicit SourceMix(std::span<const double> weights);

    struct Pick {
        int source = 0;
        std::int64_t index = 0;  ///< samples of this source before this one
        bool operator==(const Pick&) const = default;
    };
    Pick pick(std::int64_t sample) const;

    /// How many of samples 0 .. samples - 1 each source gives.
    std::vector<std::int64_t> counts(std::int64_t samples) const;

  private:
    std::vector<std::uint64_t> shares_;  // by source but the last: of what earlier ones left, in 2^-32
};

}  // namespace ziggurat::data
