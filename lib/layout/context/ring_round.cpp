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

RingBlocks RingPlan::needed(int owner, int first_turn, int end_turn, int first_step) const {
    const RingRound sizes{.block = seq_ / (2 * ranks_), .window = window_};
    RingBlocks found;
    for (const auto key_block : blocks_of(owner).index) {
        bool is_needed = false;
        for (int turn = first_turn; turn < end_turn; ++turn) {
            for (int step = first_step; step < inner_; ++step) {
                for (const auto query_block : blocks_of(moved(owner, turn, step)).index) {
                    is_needed = is_needed || sizes.meet(query_block, key_block);
                }
            }
        }
        if (is_needed) {
            found.index[found.count++] = key_block;
        }
    }
    return found;
}

RingRound RingPlan::round(int rank, int owner) const {
    const int turn = (rank / inner_ - owner / inner_ + turns()) % turns();
    const int step = (rank % inner_ - owner % inner_ + inner_) % inner_;
    return {.block = seq_ / (2 * ranks_),
            .queries = blocks_of(rank),
            .keys = needed_in(owner, turn, step),
            .window = window_};
}

}  // namespace ziggurat::layout
