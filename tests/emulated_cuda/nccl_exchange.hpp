/// Messages of one operation of the emulated NCCL.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/emulated_cuda/nccl_region.hpp"

namespace emulated_cuda {

/// This rank's part of a communicator; operations that are under way keep it.
class CommState {
  public:
    CommState(std::unique_ptr<MappedRegion> region, int ranks, int rank, int device);

    Region& region() const noexcept { return **region_; }
    int ranks() const noexcept { return ranks_; }
    int rank() const noexcept { return rank_; }
    int device() const noexcept { return device_; }

    /// Whether all have come. Two on one GPU, and ranks of another number, are failures.
    bool have_all_come();
    bool is_lost(int peer) const;

    /// Of failures the first is kept, and told on stderr.
    void fail(ncclResult_t result, const std::string& what);
    ncclResult_t failure() const noexcept { return failure_; }
    std::string what() const;

    /// Ends operations that are under way here; to others this rank is lost.
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

/// Moved from when its stream comes to it, until all is there. A message is over when the other end has taken
/// all of it: nobody may count on less.
struct Exchange {
    std::shared_ptr<CommState> comm;
    std::vector<Message> messages = {};
    std::vector<std::vector<std::byte>> kept = {};  ///< what messages bring to be summed
    std::function<void()> finish = {};

    /// As much as can be done now; true when it is over. Where something fails it is not over before the
    /// communicator is aborted, as with the real one.
    bool advance();
};

}  // namespace emulated_cuda
