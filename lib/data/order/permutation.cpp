#include "data/order/permutation.hpp"

#include <algorithm>
#include <bit>

#include "base/contract.hpp"
#include "base/philox.hpp"

namespace ziggurat::data {
namespace {

constexpr std::uint32_t num_rounds = 8;
constexpr std::uint32_t round_of_draw = num_rounds;

/// Separates these numbers from all other random numbers of the run's seed.
constexpr std::uint32_t purpose = 0x6f726465u;

}  // namespace

Permutation::Permutation(std::int64_t size, std::uint64_t seed, std::uint32_t stream)
    : size_{static_cast<std::uint64_t>(size)}, seed_{seed}, stream_{stream} {
    ZG_EXPECTS(size >= 1 && size <= std::int64_t{1} << 62);
    const int bits = std::max(2, static_cast<int>(std::bit_width(size_ - 1)));
    low_bits_ = bits / 2;
    high_bits_ = bits - low_bits_;
}

std::uint32_t Permutation::random(std::uint32_t half,
                                  std::uint32_t round,
                                  std::int64_t epoch) const noexcept {
    const auto wide_epoch = static_cast<std::uint64_t>(epoch);
    const Philox4x32::Counter counter{half, static_cast<std::uint32_t>(wide_epoch),
                                      static_cast<std::uint32_t>(wide_epoch >> 32) << 8 | round, stream_};
    const Philox4x32::Key key{static_cast<std::uint32_t>(seed_),
                              static_cast<std::uint32_t>(seed_ >> 32) ^ purpose};
    return Philox4x32::generate(counter, key)[0];
}

template <class Mix>
std::int64_t Permutation::walk(std::int64_t from, const Mix& mix) const {
    const std::uint32_t low_mask = (std::uint32_t{1} << low_bits_) - 1;
    const std::uint32_t high_mask = (std::uint32_t{1} << high_bits_) - 1;
    auto value = static_cast<std::uint64_t>(from);
    do {
        auto low = static_cast<std::uint32_t>(value) & low_mask;
        auto high = static_cast<std::uint32_t>(value >> low_bits_);
        mix(low, low_mask, high, high_mask);
        value = std::uint64_t{high} << low_bits_ | low;
    } while (value >= size_);
    return static_cast<std::int64_t>(value);
}

std::int64_t Permutation::at(std::int64_t epoch, std::int64_t position) const {
    ZG_EXPECTS(epoch >= 0 && position >= 0 && position < size());
    return walk(position, [&](auto& low, auto low_mask, auto& high, auto high_mask) {
        for (std::uint32_t round = 0; round < num_rounds; round += 2) {
            high ^= random(low, round, epoch) & high_mask;
            low ^= random(high, round + 1, epoch) & low_mask;
        }
    });
}

std::int64_t Permutation::position_of(std::int64_t epoch, std::int64_t index) const {
    ZG_EXPECTS(epoch >= 0 && index >= 0 && index < size());
    return walk(index, [&](auto& low, auto low_mask, auto& high, auto high_mask) {
        for (std::uint32_t round = num_rounds; round > 0; round -= 2) {
            low ^= random(high, round - 1, epoch) & low_mask;
            high ^= random(low, round - 2, epoch) & high_mask;
        }
    });
}

std::int64_t Permutation::draw(std::int64_t epoch, std::int64_t bound) const {
    ZG_EXPECTS(epoch >= 0 && bound >= 1 && bound <= std::int64_t{1} << 32);
    const std::uint64_t word = random(0, round_of_draw, epoch);
    return static_cast<std::int64_t>(word * static_cast<std::uint64_t>(bound) >> 32);
}

}  // namespace ziggurat::data
