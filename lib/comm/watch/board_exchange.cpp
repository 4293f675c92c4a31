#include "comm/watch/board_exchange.hpp"

#include <algorithm>

#include "base/contract.hpp"
#include "comm/node/bell.hpp"
#include "comm/node/give_way.hpp"

namespace ziggurat::comm {
namespace {

constexpr int spins = 100;
constexpr int yields = 20;
/// Sleeps are short: a post rings the bell, but other events that the waiting rank polls may not.
constexpr std::int64_t longest_sleep_ns = 1'000'000;

}  // namespace

void BoardExchange::post(std::span<const std::uint64_t> mine) {
    ZG_EXPECTS(mine.size() <= BoardSeat::max_words);
    BoardSeat& seat = board_->line(me_).seat;
    ++last_;
    tries_ = 0;
    std::copy(mine.begin(), mine.end(), seat.words[last_ % 2].begin());
    seat.posted.store(last_, std::memory_order_seq_cst);
    for (int rank = 0; rank < num_ranks_; ++rank) {
        if (rank != me_) {
            ring(board_->line(rank).seat.bell);
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
        if (++tries_ > spins && !give_way()) {
            tries_ = spins + yields;
        }
        return;
    }
    Bell& bell = board_->line(me_).seat.bell;
    const std::uint32_t announced = announce_sleep(bell);
    if (!is_complete()) {
        sleep_until_rung(bell, announced, longest_sleep_ns);
    }
    withdraw_sleep(bell);
}

}  // namespace ziggurat::comm
