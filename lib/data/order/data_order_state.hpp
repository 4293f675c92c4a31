/// Record of an order of training samples: its inputs and its start.
#pragma once

#include <cstdint>
#include <vector>

namespace ziggurat::data {

/// Progress of training in a source.
struct SourcePosition {
    std::int64_t epoch = 0;   ///< completed epochs
    std::int64_t tokens = 0;  ///< tokens of the current epoch that its order has used

    bool operator==(const SourcePosition&) const = default;
};

/// Rule that distributes samples over sources.
enum class MixRule {
    nested,  ///< of orders that earlier versions began: constant weights (NestedMix)
    even     ///< EvenMix
};

/// All inputs that determine the order of a run's training samples, except the tokens themselves.
///
/// If sources, weights or sequence length change, a run starts a new order in which each source continues at
/// its current position. Weights that change at given steps are part of the order.
struct DataOrderState {
    /// A weight of a source from a sample on.
    struct Change {
        std::int64_t sample = 0;  ///< global index
        double weight = 1;

        bool operator==(const Change&) const = default;
    };

    struct Source {
        double weight = 1;        ///< from the order's first sample on
        std::int64_t tokens = 0;  ///< total number
        /// Number of tokens at the start of the source that are trained on; the rest is held out.
        std::int64_t trained = 0;
        bool is_packed = false;            ///< its tokens are arranged in sequences of `seq` tokens
        std::uint32_t stream = 0;          ///< selects its shuffles; unique among the sources, and permanent
        SourcePosition begin = {};         ///< position of the source at which the order starts
        std::vector<Change> changes = {};  ///< by sample, after the order's first sample
        std::int64_t earlier = 0;          ///< number of its samples before the order's first sample
        /// Number of its samples from the order's first sample to `reached_sample`.
        std::int64_t reached = 0;

        bool operator==(const Source&) const = default;
    };

    std::int64_t first_sample = 0;  ///< the global index of the order's first sample
    std::int64_t seq = 0;           ///< tokens of a sample
    std::uint64_t seed = 0;
    bool is_shuffled = true;
    /// In the order of data.train; empty: unknown, because an older version wrote the record.
    std::vector<Source> sources = {};
    MixRule mix = MixRule::even;
    /// For MixRule::even: sample from which the mix continues, so that it needs no earlier picks.
    std::int64_t reached_sample = first_sample;

    bool is_known() const noexcept { return !sources.empty(); }
    bool operator==(const DataOrderState&) const = default;
};

}  // namespace ziggurat::data
