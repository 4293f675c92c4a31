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

/// A unit's parameters, in order, each at an aligned offset (joined ones right behind their predecessor).
///
/// Rajbhandari et al., "ZeRO", 2020, section 5: states are flattened, padded and cut. What lies between
/// parameters and behind the last one is zero in every state kind and stays zero.
class FlatLayout {
  public:
    /// Every state kind begins a parameter at a multiple of this many elements.
    static constexpr std::int64_t alignment = 16;
    /// Shards, and blocks of exact sums, begin at multiples of this many elements.
    static constexpr std::int64_t block = 256;

    /// \param unit    its parameters as one rank of the tensor axis holds them
    /// \param tensor  degree of the tensor axis
    /// \param shards  the padded size is a multiple of `block` times this (the data degree)
    FlatLayout(const Unit& unit, int tensor, int shards);

    std::int64_t elements() const noexcept { return elements_; }
    std::int64_t padded_elements() const noexcept { return padded_; }
    const std::vector<ElementRange>& parameters() const noexcept { return parameters_; }
    const ElementRange& parameter(int index) const { return parameters_.at(static_cast<std::size_t>(index)); }

    /// Ranges without data: between parameters and behind the last.
    std::vector<ElementRange> gaps() const;

  private:
    std::vector<ElementRange> parameters_;
    std::int64_t elements_ = 0;
    std::int64_t padded_ = 0;
};

}  // namespace ziggurat::layout
