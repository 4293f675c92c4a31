/// Transfer thread: reads and writes files while other threads compute.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/enum_array.hpp"
#include "storage/checksum_table.hpp"
#include "storage/direct_file.hpp"

namespace ziggurat::storage {

class AioQueue;

enum class TransferKind { read, write };

/// Priority of a transfer: blocks of urgent transfers are always submitted before other blocks.
enum class TransferPriority { high, low };
inline constexpr std::size_t num_priorities = 2;

/// A range of a file and the memory that it is transferred to or from; whole pages for a direct file.
struct FileSegment {
    DirectFile* file = nullptr;
    std::int64_t offset_bytes = 0;
    std::byte* memory = nullptr;
    std::int64_t bytes = 0;
    /// Checksums of these bytes, from cell offset `first_of_records` on; nullptr: no checksums.
    ///
    /// Written bytes are recorded, and read bytes are checked.
    ChecksumTable* records = nullptr;
    std::int64_t first_of_records = 0;
};

/// Statistics of the transfers of one file.
struct FileUse {
    const DirectFile* file = nullptr;
    std::int64_t blocks = 0;
    std::int64_t bytes = 0;
    std::int64_t busy_ns = 0;  ///< time in which at least one block of it was in flight
};

/// Thread that keeps one queue of transfers full.
///
/// Blocks of the next transfer are submitted while the one before is still running. Transfers are described
/// once and can be started again after they are done. Starting and polling do not allocate.
///
/// Blocks are submitted in the order of the starts, those of urgent transfers first. A transfer ends when all
/// its bytes have moved. The thread computes the checksum of each block while other blocks move. The thread
/// receives no signals and calls no MPI functions.
///
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, section 6.3 (DeepNVMe)
class TransferThread {
  public:
    struct Options {
        int depth = 32;  ///< blocks in flight
        std::int64_t block_bytes = std::int64_t{1} << 20;
        std::function<void()> when_done = {};  ///< called by the thread after each transfer
    };

    /// Errors: Error{resource} if no thread can be created
    explicit TransferThread(Options options);
    /// Waits until all started transfers have ended.
    ~TransferThread();
    TransferThread(const TransferThread&) = delete;
    TransferThread& operator=(const TransferThread&) = delete;

    /// Adds a transfer; returns its number.
    ///
    /// \param before  called by the thread before the first byte moves
    /// \param after   called by the thread after all bytes have moved; its exception fails the transfer
    /// \pre     no transfer has been started
    int add(TransferKind kind,
            const std::vector<FileSegment>& segments,
            TransferPriority priority = TransferPriority::high,
            std::function<void()> before = {},
            std::function<void()> after = {});

    /// Starts a transfer.
    ///
    /// \pre the transfer is new or done
    void start(int transfer);
    /// Returns the reason why blocks move one at a time; empty if they do not. See AioQueue.
    std::string not_asynchronous_reason() const;
    /// Returns the maximum number of blocks in flight.
    int depth() const;
    /// Returns true if all bytes have moved since start(); one atomic load.
    ///
    /// Errors: Error{resource} with path, offset and reason; every later transfer fails with the same error
    bool is_done(int transfer) const;

    std::int64_t bytes(int transfer) const { return transfers_.at(transfer)->bytes; }
    /// Returns the bytes that the transfer has submitted since it was added, counted at submission.
    std::int64_t bytes_given(int transfer) const {
        return transfers_.at(transfer)->bytes_given.load(std::memory_order_relaxed);
    }
    /// Returns the statistics of each file, in the order in which transfers were added.
    std::vector<FileUse> uses() const;
    /// Returns the last end time of the transfer, by monotonic_ns(); 0: never. \pre is_done
    std::int64_t ended_ns(int transfer) const { return transfers_.at(transfer)->ended_ns; }

  private:
    struct File {
        const DirectFile* file = nullptr;
        std::int64_t in_flight = 0;      ///< number of blocks in flight
        std::int64_t busy_since_ns = 0;  ///< while blocks are in flight: time up to which busy_ns counts
        std::atomic<std::int64_t> blocks{0}, bytes{0}, busy_ns{0};
    };
    struct Block {
        FileSegment segment;
        File* file = nullptr;
    };
    struct Transfer {
        TransferKind kind = TransferKind::read;
        TransferPriority priority = TransferPriority::high;
        std::vector<Block> blocks;
        std::int64_t bytes = 0;
        std::function<void()> before, after;
        std::size_t missing = 0;  ///< number of blocks that have not moved
        std::int64_t ended_ns = 0;
        std::atomic<std::int64_t> bytes_given{0};
        std::atomic<bool> is_done{true};
    };

    /// Ring buffer of the started transfers of one urgency that have not begun; it never overflows.
    struct Started {
        std::vector<int> ring;
        std::size_t first = 0, count = 0;

        void put(int transfer);
        int next_result();
    };
    /// The transfer of one urgency whose blocks are being submitted to the queue.
    struct Giving {
        int transfer = -1;  ///< -1: no transfer
        std::size_t next_block = 0;
    };

    File* file_of(const FileSegment& segment);
    void run();
    void move_all();
    /// Waits until a transfer is started; returns false if the thread must end instead.
    bool wait_for_start();
    /// Begins the next started transfer of each urgency that has no current transfer.
    void begin_started();
    /// Submits one block of the most urgent transfer; returns false if there is no block.
    bool submit_block();
    void begin(int transfer);
    void submit(AioQueue& queue, int transfer, std::size_t place);
    void end_block(std::uint64_t tag);
    void end(Transfer& transfer);

    Options options_;
    std::vector<std::unique_ptr<Transfer>> transfers_;
    std::vector<std::unique_ptr<File>> files_;
    std::mutex mutex_;
    std::condition_variable report_;
    EnumArray<TransferPriority, Started, num_priorities> started_;
    EnumArray<TransferPriority, Giving, num_priorities> giving_;  ///< used only by the thread
    bool ends_ = false;
    std::unique_ptr<AioQueue> queue_;
    std::atomic<bool> has_failed_{false};
    std::exception_ptr failure_;
    std::thread thread_;
};

}  // namespace ziggurat::storage
