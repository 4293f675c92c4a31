/// AsyncSum: asynchronous sum or maximum of a few integers over the ranks of a group.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/node/shared_channel.hpp"

namespace ziggurat::comm {

class NodeMemory;

/// All-reduce of the limbs of exact sums, counts and flags of a step.
///
/// For a few integers, never for tensors.
///
/// If all members share a node, the words are in their seats, and each member reads the words of all others.
/// MPI is not polled, and a waiting rank can sleep on its bell. Otherwise it is an all-reduce of MPI.
class AsyncSum {
  public:
    /// \param node        provides the seats of the group; outlives this. nullptr: MPI
    /// \param num_maxima  number of words at the end that are reduced by maximum instead of sum
    /// Collective: over `group`
    AsyncSum(const Communicator& group, int num_words, NodeMemory* node = nullptr, int num_maxima = 0);
    ~AsyncSum();
    AsyncSum(const AsyncSum&) = delete;
    AsyncSum& operator=(const AsyncSum&) = delete;

    /// Words to reduce: filled before start(), results after poll() has returned true.
    std::span<std::int64_t> words() noexcept { return words_; }

    /// Collective: over the group
    /// Async:      words() must not be touched until poll() is true
    void start();
    /// True once words() holds the sums modulo 2^64.
    bool poll();

    /// True if it does not use MPI.
    bool is_shared() const noexcept { return seats_.has_value(); }

  private:
    bool poll_seats();
    bool poll_mpi();

    Communicator group_;
    NodeMemory* node_;
    std::vector<std::int64_t> words_;
    std::size_t num_sums_;  ///< words that are summed; those after them are maxima
    std::optional<SharedChannel> seats_;
    SharedChannel::Operation operation_ = 0;
    bool is_posted_ = false;
    bool is_running_ = false;
    std::array<MPI_Request, 2> requests_{MPI_REQUEST_NULL, MPI_REQUEST_NULL};  ///< of sums, of maxima
};

}  // namespace ziggurat::comm
