/// Copies of unpinned host memory: its address ranges, and the pinned buffer for the copies.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "device/arena.hpp"

namespace ziggurat::device::cuda {

/// Ranges of unpinned host memory that one GPU copies. Thread-safe.
class UnpinnedRanges {
  public:
    void add(const std::byte* begin, std::int64_t bytes);
    void remove(const std::byte* begin);
    /// True if some of these bytes are in a registered range.
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

/// Copies of one stream through a pinned buffer, in order with the other work of the stream.
///
/// A thread of the CUDA runtime moves each piece between the buffer and the unpinned memory, so the caller
/// never waits. The buffer has two halves: while the GPU copies one piece, the thread moves the next one.
/// Used by one thread.
class UnpinnedCopies {
  public:
    UnpinnedCopies();
    /// \pre all work of the stream is done
    ~UnpinnedCopies();
    UnpinnedCopies(const UnpinnedCopies&) = delete;
    UnpinnedCopies& operator=(const UnpinnedCopies&) = delete;

    void into_gpu(cudaStream_t stream, std::byte* to, const std::byte* from, std::int64_t bytes);
    void from_gpu(cudaStream_t stream, std::byte* to, const std::byte* from, std::int64_t bytes);

  private:
    /// Piece that a thread of the CUDA runtime moves.
    struct Move {
        std::byte* to = nullptr;
        const std::byte* from = nullptr;
        std::size_t bytes = 0;
        std::atomic<bool> is_done{true};
    };
    /// Half of the buffer, and the events of its last piece.
    struct Half {
        std::byte* data = nullptr;
        cudaEvent_t is_filled = nullptr, is_emptied = nullptr;
    };
    void move(std::byte* to, const std::byte* from, std::size_t bytes);
    static void carry_out(void* move);

    Arena between_;
    std::array<Half, 2> halves_{};
    cudaStream_t moving_ = nullptr;  ///< stream of the moves
    std::list<Move> moves_;  ///< reused; its size is the maximum number of moves that were in flight at once
};

}  // namespace ziggurat::device::cuda
