#include "comm/watch/board_exchange.hpp"

#include <algorithm>

#include "base/contract.hpp"
#include "comm/node/event_count.hpp"
#include "comm/node/yield_core.hpp"

namespace ziggurat::comm {
namespace {

constexpr int spins = 100;
constexpr int yields = 20;
/// Sleeps are short: a post rings the bell, but other events that the waiting rank polls may not.
constexpr std::int64_t longest_sleep_ns = 1'000'000;

}  // namespace

void BoardExchange::post(std::span<const std::uint64_t> mine) {
    ZG_EXPECTS(mine.size() <= ExchangeSlot::max_words);
    ExchangeSlot& seat = board_->line(me_).seat;
    ++last_;
    tries_ = 0;
    std::copy(mine.begin(), mine.end(), seat.words[last_ % 2].begin());
    seat.posted.store(last_, std::memory_order_seq_cst);
    for (int rank = 0; rank < num_ranks_; ++rank) {
        if (rank != me_) {
            notify(board_->line(rank).seat.bell);
        }
    }
}

bool BoardExchange::is_complete() const noexcept {
    for (int rank = 0; rank < num_ranks_; ++rank) {
        const std::uint32_t posted = board_->line(rank).seat.posted.load(std::memory_order_acquire);
        if (static_cast<std::int32_t>(posted - last_) < 0) {  // handles wrap-around
            return false;
        }
    }
    return true;
}

void BoardExchange::idle() noexcept {
    if (tries_ < spins + yields) {
        if (++tries_ > spins && !yield_core()) {
            tries_ = spins + yields;
        }
        return;
    }
    EventCount& bell = board_->line(me_).seat.bell;
    const std::uint32_t announced = prepare_wait(bell);
    if (!is_complete()) {
        wait_for_notify(bell, announced, longest_sleep_ns);
    }
    cancel_wait(bell);
}

}  // namespace ziggurat::comm
