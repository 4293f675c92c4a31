#include "layout/context/ring_round.hpp"

namespace ziggurat::layout {
namespace {

/// Returns the number of i and j in [0, n) with i - j <= most.
double pairs_up_to(double most, double n) {
    if (most <= -n) {
        return 0;
    }
    if (most < 0) {
        return (n + most) * (n + most + 1) / 2;
    }
    return most >= n ? n * n : n * n - (n - 1 - most) * (n - most) / 2;
}

}  // namespace

double RingRound::pairs() const {
    double sum = 0;
    for (int q = 0; q < queries.count; ++q) {
        for (int k = 0; k < keys.count; ++k) {
            if (!meet(queries.index[q], keys.index[k])) {
                continue;
            }
            const auto n = static_cast<double>(block);
            const auto ahead = static_cast<double>(queries.index[q] - keys.index[k]) * n;
            const auto in_window = window > 0 ? static_cast<double>(window) - 1 - ahead : n;
            sum += pairs_up_to(in_window, n) - pairs_up_to(-1 - ahead, n);
        }
    }
    return sum;
}

RingBlocks RingPlan::arriving(int owner, int hop) const {
    const auto own = blocks_of(owner);
    if (hop == 0) {
        return own;
    }
    const RingRound sizes{.block = seq_ / (2 * ranks_), .window = window_};
    RingBlocks needed;
    for (const auto key_block : own.index) {
        bool is_needed = false;
        for (int later = hop; later < ranks_; ++later) {
            for (const auto query_block : blocks_of((owner + later) % ranks_).index) {
                is_needed = is_needed || sizes.meet(query_block, key_block);
            }
        }
        if (is_needed) {
            needed.index[needed.count++] = key_block;
        }
    }
    return needed;
}

RingRound RingPlan::round(int rank, int hop) const {
    return {.block = seq_ / (2 * ranks_),
            .queries = blocks_of(rank),
            .keys = arriving(owner_of(rank, hop), hop),
            .window = window_};
}

}  // namespace ziggurat::layout
