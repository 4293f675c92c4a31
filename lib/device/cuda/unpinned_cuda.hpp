/// Copies of host memory that is not pinned: where it lies, and the pinned memory that they go by.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "device/arena.hpp"

namespace ziggurat::device::cuda {

/// Memory of the host that one GPU copies and that is not pinned. Several threads may call.
class UnpinnedRanges {
  public:
    void add(const std::byte* begin, std::int64_t bytes);
    void remove(const std::byte* begin);
    /// Whether some of these bytes are of it.
    bool touches(const std::byte* begin, std::int64_t bytes) const;

  private:
    struct Range {
        const std::byte* begin;
        std::int64_t bytes;
    };
    mutable std::mutex mutex_;
    std::vector<Range> ranges_;
    std::atomic<bool> is_empty_{true};
};

/// Copies of one stream, piece by piece through pinned memory, in order with its other work: a thread of the
/// runtime moves each piece between there and the memory that is not pinned, so that the caller waits for
/// nothing. One thread calls.
class UnpinnedCopies {
  public:
    UnpinnedCopies();
    /// \pre the stream is at its end
    ~UnpinnedCopies();
    UnpinnedCopies(const UnpinnedCopies&) = delete;
    UnpinnedCopies& operator=(const UnpinnedCopies&) = delete;

    void into_gpu(cudaStream_t stream, std::byte* to, const std::byte* from, std::int64_t bytes);
    void from_gpu(cudaStream_t stream, std::byte* to, const std::byte* from, std::int64_t bytes);

  private:
    /// A piece that the host moves.
    struct Move {
        std::byte* to = nullptr;
        const std::byte* from = nullptr;
        std::size_t bytes = 0;
        std::atomic<bool> is_done{true};
    };
    void move(cudaStream_t stream, std::byte* to, const std::byte* from, std::size_t bytes);
    static void carry_out(void* move);

    Arena between_;
    std::list<Move> moves_;  ///< as many as were ever under way at once
};

}  // namespace ziggurat::device::cuda
