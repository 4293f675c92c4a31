/// Permutation of indices in constant memory, for shuffling.
#pragma once

#include <cstdint>

namespace ziggurat::data {

/// A family of random permutations of the numbers 0 .. size - 1, one for each epoch.
///
/// Any element of any permutation is computed independently at the same cost. A Feistel network over the
/// smallest number of bits that holds `size` is a bijection for any round function (Luby and Rackoff, "How to
/// construct pseudorandom permutations from pseudorandom functions", 1988). Results out of range are permuted
/// again until they are in range (cycle walking: Black and Rogaway, "Ciphers with arbitrary finite domains",
/// 2002), less than once on average. The round function is Philox keyed by the seed.
class Permutation {
  public:
    /// \param size    1 .. 2^62
    /// \param stream  distinguishes permutations of equal size and seed
    Permutation(std::int64_t size, std::uint64_t seed, std::uint32_t stream);

    std::int64_t size() const noexcept { return static_cast<std::int64_t>(size_); }

    /// Returns the index at `position` in the permutation of `epoch`.
    std::int64_t at(std::int64_t epoch, std::int64_t position) const;

    /// Returns the position of `index` in the permutation of `epoch`: the inverse of at().
    std::int64_t position_of(std::int64_t epoch, std::int64_t index) const;

    /// Returns a random number in [0, bound) for `epoch`.
    std::int64_t draw(std::int64_t epoch, std::int64_t bound) const;

  private:
    /// Applies `mix(low, low_mask, high, high_mask)` to the halves until the number is in range.
    template <class Mix>
    std::int64_t walk(std::int64_t from, const Mix& mix) const;
    std::uint32_t random(std::uint32_t half, std::uint32_t round, std::int64_t epoch) const noexcept;

    std::uint64_t size_;
    std::uint64_t seed_;
    std::uint32_t stream_;
    int low_bits_ = 1;
    int high_bits_ = 1;
};

}  // namespace ziggurat::data
