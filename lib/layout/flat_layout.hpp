/// The parameters of a unit as ranges of one flat buffer.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/families/family.hpp"

namespace ziggurat::layout {

/// Half-open range [begin, end) of elements of a flat buffer.
struct ElementRange {
    std::int64_t begin = 0;
    std::int64_t end = 0;

    std::int64_t size() const noexcept { return end - begin; }
    bool empty() const noexcept { return end <= begin; }
    bool operator==(const ElementRange&) const = default;
};

/// Returns the elements that both ranges contain; an empty range has begin == end.
constexpr ElementRange intersection(ElementRange a, ElementRange b) noexcept {
    const auto begin = a.begin > b.begin ? a.begin : b.begin;
    const auto end = a.end < b.end ? a.end : b.end;
    return {begin, begin > end ? begin : end};
}

/// A unit's parameters, each at an aligned offset. Joined parameters directly follow their predecessor.
///
/// There are two regions, each padded to whole shards: the trained parameters in their order, then the frozen
/// parameters in their order. Every state kind has the first region; only parameters have the second. Chunk,
/// shard and element numbers are therefore the same in all kinds.
///
/// Rajbhandari et al., "ZeRO", 2020, section 5: states are flattened, padded and sharded. Padding between
/// parameters and at the end of a region is zero in every state kind and stays zero.
///
/// Parameters a b c, where b is frozen:   aaaa cc.. | bbb.
class FlatLayout {
  public:
    /// Alignment of parameters in elements, in every state kind.
    static constexpr std::int64_t alignment = 16;
    /// Alignment of shards, and of blocks of exact sums, in elements.
    static constexpr std::int64_t block = 256;

    /// \param unit    its parameters as one rank of the tensor axis holds them
    /// \param tensor  degree of the tensor axis
    /// \param shards  the data degree: padded sizes are multiples of `block` times this
    FlatLayout(const Unit& unit, int tensor, int shards);

    /// Returns the end of the last parameter.
    std::int64_t elements() const noexcept { return elements_; }
    /// Returns the end of the last parameter of the trained region.
    std::int64_t trained_end() const noexcept { return trained_end_; }
    /// Returns the size of both regions.
    std::int64_t padded_elements() const noexcept { return padded_; }
    /// Returns the padded size of the trained region, which is [0, trained_elements()) of the flat range.
    std::int64_t trained_elements() const noexcept { return trained_; }
    std::int64_t frozen_elements() const noexcept { return padded_ - trained_; }
    ElementRange trained() const noexcept { return {0, trained_}; }
    ElementRange frozen() const noexcept { return {trained_, padded_}; }
    /// Returns the ranges, indexed by parameter of the unit; ascending within a region.
    const std::vector<ElementRange>& parameters() const noexcept { return parameters_; }
    const ElementRange& parameter(int index) const { return parameters_.at(index); }

    /// Returns the parameters in the order of their ranges.
    std::vector<int> ascending() const;

  private:
    std::vector<ElementRange> parameters_;
    std::int64_t elements_ = 0;
    std::int64_t trained_end_ = 0;
    std::int64_t trained_ = 0;
    std::int64_t padded_ = 0;
};

}  // namespace ziggurat::layout
