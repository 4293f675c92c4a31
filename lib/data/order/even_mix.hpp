/// Mix of sources whose weights may change: each count stays within one sample of its due.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/order/source_mix.hpp"

namespace ziggurat::data {

/// Distributes samples so that after each of them, each source has its due within less than one sample.
///
/// The due of a source is the sum of its shares of all samples so far. A share is the weight of the source
/// divided by the sum of all weights of that sample. A source is eligible for a sample if its due exceeds its
/// count by at least 1 / (2 n - 2), with n sources. Of these, the source is picked whose due reaches its
/// count plus 1 - 1 / (2 n - 2) first, its deadline. A source whose weight stays 0 has no deadline: all
/// sources with a weight and a due above their count are picked before it. It gets no more samples, except
/// if several sources end and lack a whole sample together.
///
/// The last rule keeps the bound: it only brings samples of other sources forward, which cannot make them
/// miss a deadline, and a source with a due above its count exceeds its due by less than one sample.
///
/// Picks are computed one after another. Saved states make it cheap to go back: a sample that is d samples
/// before the latest one costs the computation of at most 16 d + 128 picks, and a later sample costs the
/// picks in between.
///
/// Source:   Tijdeman, "The chairman assignment problem", Discrete Mathematics 32, 1980
/// Numerics: shares are multiples of 2^-48 that add up to 1, so picks do not depend on the machine
class EvenMix final : public SourceMix {
  public:
    /// Weights from a sample on, up to the next range.
    struct Range {
        std::int64_t first = 0;
        std::vector<double> weights;  ///< one per source, not negative, not all zero
    };

    /// Number of samples of each source among the first `samples`.
    struct MixPosition {
        std::int64_t samples = 0;
        std::vector<std::int64_t> counts = {};  ///< empty: all 0
    };

    /// \param ranges   by sample; the first begins with sample 0
    /// \param reached  state of the same mix at a sample; only later samples can be picked
    explicit EvenMix(std::span<const Range> ranges, const MixPosition& reached);

    Pick pick(std::int64_t sample) const override;
    void count(std::int64_t samples, std::span<std::int64_t> counts) const override;

    /// Returns true if the sum of the counts is right, and each is within 1024 samples of its due.
    ///
    /// More than one sample is possible if later weights have changed, for example after a rollback.
    static bool can_reach(std::span<const Range> ranges, const MixPosition& reached);

  private:
    /// Shares from a sample on, in units of 2^-48.
    struct Shares {
        std::int64_t first = 0;
        std::vector<std::int64_t> of_sources;
    };
    /// State before a sample.
    struct State {
        std::int64_t samples = 0;
        std::size_t range = 0;
        std::vector<std::int64_t> counts;
        std::vector<std::int64_t> lags;       ///< due minus count, in units of 2^-48
        std::vector<std::int64_t> deadlines;  ///< number of samples that must include the next one
    };
    static constexpr std::size_t num_saved = 12;

    static std::vector<Shares> shares_of(std::span<const Range> ranges);
    static State state_of(std::span<const Shares> ranges, const MixPosition& reached);

    std::int64_t end_of_range(std::size_t range) const;
    std::int64_t deadline(const State& state, std::size_t source) const;
    std::size_t choose(const State& state) const;
    /// Picks the source of the next sample.
    std::size_t advance(State& state) const;
    /// Moves the current state to `samples`.
    void move_to(std::int64_t samples) const;

    std::vector<Shares> ranges_;
    std::int64_t min_lag_;  ///< of an eligible source
    State start_;
    mutable State current_;
    /// Latest states at even and at odd multiples of a stride of 2^6, 2^9, 2^12 ... samples.
    mutable std::array<std::array<State, 2>, num_saved> saved_;
};

}  // namespace ziggurat::data
