/// Record of an order of training samples: what it is made of, and where it begins.
#pragma once

#include <cstdint>
#include <vector>

namespace ziggurat::data {

/// How far training has come in a source.
struct SourcePlace {
    std::int64_t epoch = 0;   ///< epochs that are over
    std::int64_t tokens = 0;  ///< of the epoch under way: those that its order has passed

    bool operator==(const SourcePlace&) const = default;
};

/// Everything that the order of a run's training samples depends on, but for the tokens themselves. A run
/// whose sources, weights or sequences change begins another order, in which each source goes on where it
/// was.
struct OrderRecord {
    struct Source {
        double weight = 1;
        std::int64_t tokens = 0;   ///< in all
        std::int64_t trained = 0;  ///< of these the first so many: the others are held out
        std::uint32_t stream = 0;  ///< tells its shuffles from those of the other sources; stays with it
        SourcePlace begin = {};    ///< where the order begins in it

        bool operator==(const Source&) const = default;
    };

    std::int64_t first_sample = 0;  ///< the global index of the order's first sample
    std::int64_t seq = 0;           ///< tokens of a sample
    std::uint64_t seed = 0;
    bool is_shuffled = true;
    std::vector<Source> sources =
        {};  ///< as data.train lists them; none: not known, an older version wrote it

    bool is_known() const noexcept { return !sources.empty(); }
    bool operator==(const OrderRecord&) const = default;
};

}  // namespace ziggurat::data
