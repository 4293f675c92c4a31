/// Mix of several sources: selects the source of each sample.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ziggurat::data {

/// Distribution of samples over sources by weight. The source of a sample depends only on its index.
///
/// Thread: not thread-safe, because an implementation may keep the state of its latest pick
class SourceMix {
  public:
    struct Pick {
        int source = 0;
        std::int64_t index = 0;  ///< number of earlier samples of this source
        bool operator==(const Pick&) const = default;
    };

    virtual ~SourceMix() = default;

    /// Returns the source of a sample. Allocates no memory.
    virtual Pick pick(std::int64_t sample) const = 0;

    /// Writes the number of samples of each source among samples 0 .. samples - 1. Allocates no memory.
    ///
    /// \param counts  one per source
    virtual void count(std::int64_t samples, std::span<std::int64_t> counts) const = 0;
};

/// Mix of constant weights in closed form: the rule of orders that earlier versions began.
///
/// Source 0 gets round(k w0 / (w0 + w1 + ...)) of the first k samples. The others share the rest by the same
/// rule. With four or more sources, a count can therefore differ from its due by more than one sample.
class NestedMix final : public SourceMix {
  public:
    /// \param weights  one per source, not negative, not all zero
    explicit NestedMix(std::span<const double> weights);

    Pick pick(std::int64_t sample) const override;
    void count(std::int64_t samples, std::span<std::int64_t> counts) const override;

  private:
    // For each source except the last: share of the rest after earlier sources, in 2^-32.
    std::vector<std::uint64_t> shares_;
};

}  // namespace ziggurat::data
