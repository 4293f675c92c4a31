/// A small sum of integers over the ranks of a group, started and polled beside other work.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/communicator.hpp"

namespace ziggurat::comm {

/// The limbs of exact sums, counts and flags of a step. For a few words, never payload.
class AsyncSum {
  public:
    /// Collective: over `group`
    AsyncSum(const Communicator& group, int num_words);
    ~AsyncSum();
    AsyncSum(const AsyncSum&) = delete;
    AsyncSum& operator=(const AsyncSum&) = delete;

    /// Filled before start(), the sums once poll() has said true.
    std::span<std::int64_t> words() noexcept { return words_; }

    /// Collective: over the group
    /// Async:      words() must not be touched until poll() is true
    void start();
    /// True once words() holds the sums modulo 2^64.
    bool poll();

  private:
    Communicator group_;
    std::vector<std::int64_t> words_;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace ziggurat::comm
