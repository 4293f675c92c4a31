/// Messages of one operation of the emulated NCCL.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/emulated_cuda/nccl_region.hpp"

namespace emulated_cuda {

/// This rank's part of a communicator; operations in flight share its ownership.
class CommState {
  public:
    CommState(std::unique_ptr<MappedRegion> region, int ranks, int rank, int device);

    Region& region() const noexcept { return **region_; }
    int ranks() const noexcept { return ranks_; }
    int rank() const noexcept { return rank_; }
    int device() const noexcept { return device_; }

    /// Returns true if all ranks have joined. Fails if two are on one GPU, or if their number differs.
    bool have_all_come();
    bool is_lost(int peer) const;

    /// Stores the first failure, and prints it on stderr.
    void fail(ncclResult_t result, const std::string& what);
    ncclResult_t failure() const noexcept { return failure_; }
    std::string what() const;

    /// Ends the operations in flight here. For other ranks, this rank is lost.
    void abort();
    bool is_aborted() const noexcept { return is_aborted_; }

  private:
    std::unique_ptr<MappedRegion> region_;
    int ranks_, rank_, device_;
    std::vector<std::unique_ptr<ProcessWatch>> watches_;
    std::atomic<bool> is_aborted_ = false;
    std::atomic<ncclResult_t> failure_ = ncclSuccess;
    mutable std::mutex mutex_;
    std::string what_;
};

struct Message {
    int peer;
    bool sends;
    MessageHead head;
    std::byte* at;
    std::size_t bytes;
    std::size_t moved = 0;
    bool is_over = false;
};

/// Messages of one operation. They advance from its turn in the stream until all are complete.
///
/// A message is complete when the other end has received all of it: a weaker guarantee cannot be relied on.
struct Exchange {
    std::shared_ptr<CommState> comm;
    std::vector<Message> messages = {};
    std::vector<std::vector<std::byte>> kept = {};  ///< received data to be summed
    std::function<void()> finish = {};

    /// Transfers as much as currently possible. Returns true if complete. After a failure it is not
    /// complete before the communicator is aborted, as with the real library.
    bool advance();
};

}  // namespace emulated_cuda
