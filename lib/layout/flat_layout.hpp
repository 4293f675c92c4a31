/// The parameters of a unit as ranges of one flat buffer.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/family.hpp"

namespace ziggurat::layout {

/// Half-open range [begin, end) of elements of a flat buffer.
struct ElementRange {
    std::int64_t begin = 0;
    std::int64_t end = 0;

    std::int64_t size() const noexcept { return end - begin; }
    bool empty() const noexcept { return end <= begin; }
    bool operator==(const ElementRange&) const = default;
};

/// A unit's parameters, each at an aligned offset (joined ones right behind their predecessor).
///
/// Two regions follow each other, each padded to whole shards: the trained parameters in their order, then
/// the frozen ones in theirs. Every state kind has the first, parameters alone have the second, so that
/// chunk, shard and element numbers are the same in all kinds.
///
/// Rajbhandari et al., "ZeRO", 2020, section 5: states are flattened, padded and cut. What lies between
/// parameters and behind the last one of a region is zero in every state kind and stays zero.
///
/// Parameters a b c of which b is frozen:   aaaa cc.. | bbb.
class FlatLayout {
  public:
    /// Every state kind begins a parameter at a multiple of this many elements.
    static constexpr std::int64_t alignment = 16;
    /// Shards, and blocks of exact sums, begin at multiples of this many elements.
    static constexpr std::int64_t block = 256;

    /// \param unit    its parameters as one rank of the tensor axis holds them
    /// \param tensor  degree of the tensor axis
    /// \param shards  padded sizes are multiples of `block` times this (the data degree)
    FlatLayout(const Unit& unit, int tensor, int shards);

    /// End of the last parameter.
    std::int64_t elements() const noexcept { return elements_; }
    /// End of the last parameter of the trained region.
    std::int64_t trained_end() const noexcept { return trained_end_; }
    /// Both regions.
    std::int64_t padded_elements() const noexcept { return padded_; }
    /// The trained region, padded: [0, trained_elements()) of the flat range.
    std::int64_t trained_elements() const noexcept { return trained_; }
    std::int64_t frozen_elements() const noexcept { return padded_ - trained_; }
    ElementRange trained() const noexcept { return {0, trained_}; }
    ElementRange frozen() const noexcept { return {trained_, padded_}; }
    /// By parameter of the unit; ascending within a region.
    const std::vector<ElementRange>& parameters() const noexcept { return parameters_; }
    const ElementRange& parameter(int index) const { return parameters_.at(static_cast<std::size_t>(index)); }

    /// The parameters in the order of their ranges.
    std::vector<int> ascending() const;

  private:
    std::vector<ElementRange> parameters_;
    std::int64_t elements_ = 0;
    std::int64_t trained_end_ = 0;
    std::int64_t trained_ = 0;
    std::int64_t padded_ = 0;
};

}  // namespace ziggurat::layout
