/// Sum, or maximum, of a few integers over the ranks of a group, started and polled beside other work.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/node/seat_channel.hpp"

namespace ziggurat::comm {

class NodeMemory;

/// The limbs of exact sums, counts and flags of a step. For a few words, never payload.
///
/// Where all members share a node, the words travel in their seats: each reads the words of all others, no
/// MPI is polled, and a rank that waits may sleep on its bell. Else it is an all-reduce of MPI.
class AsyncSum {
  public:
    /// \param node        gives the group its seats; outlives this. nullptr: MPI
    /// \param num_maxima  so many words, the last, become their maximum over the ranks in the place of a sum
    /// Collective: over `group`
    AsyncSum(const Communicator& group, int num_words, NodeMemory* node = nullptr, int num_maxima = 0);
    ~AsyncSum();
    AsyncSum(const AsyncSum&) = delete;
    AsyncSum& operator=(const AsyncSum&) = delete;

    /// Filled before start(), the sums and maxima once poll() has said true.
    std::span<std::int64_t> words() noexcept { return words_; }

    /// Collective: over the group
    /// Async:      words() must not be touched until poll() is true
    void start();
    /// True once words() holds the sums modulo 2^64.
    bool poll();

    /// True when it goes without MPI.
    bool is_shared() const noexcept { return seats_.has_value(); }

  private:
    bool poll_seats();
    bool poll_mpi();

    Communicator group_;
    NodeMemory* node_;
    std::vector<std::int64_t> words_;
    std::size_t num_sums_;  ///< words that are added; those behind them are maxima
    std::optional<SeatChannel> seats_;
    SeatChannel::Operation operation_ = 0;
    bool is_posted_ = false;
    bool is_running_ = false;
    std::array<MPI_Request, 2> requests_{MPI_REQUEST_NULL, MPI_REQUEST_NULL};  ///< of sums, of maxima
};

}  // namespace ziggurat::comm
