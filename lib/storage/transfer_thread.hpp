/// Transfer thread: moves bytes of files while other threads compute.
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

#include "storage/cell_records.hpp"
#include "storage/direct_file.hpp"

namespace ziggurat::storage {

class AioQueue;

enum class TransferKind { read, write };

/// Blocks of urgent transfers go to the disk before those of others, however long these have been waiting.
enum class Urgency { urgent, can_wait };
inline constexpr std::size_t num_urgencies = 2;

/// A run of a file and the memory that it comes to or goes from; both whole pages of a direct file.
struct FileSegment {
    DirectFile* file = nullptr;
    std::int64_t offset_bytes = 0;
    std::byte* memory = nullptr;
    std::int64_t bytes = 0;
    /// Whose cells these are, from there on: what is written is noted, what is read is checked. Nothing: not.
    CellRecords* records = nullptr;
    std::int64_t first_of_records = 0;
};

/// Bytes moved to or from one file.
struct FileUse {
    const DirectFile* file = nullptr;
    std::int64_t blocks = 0;
    std::int64_t bytes = 0;
    std::int64_t busy_ns = 0;  ///< in which at least one block of it was asked for and had not come
};

/// A thread that keeps one queue of transfers full: what is started next goes to the disk while the one
/// before is still under way. Transfers are described once and may be started again whenever they are done;
/// starting and asking allocate nothing.
///
/// Blocks are given to the disk in the order of the starts, of urgent transfers first; a transfer ends when
/// all its bytes have moved.
/// Checksums are taken by the thread, of each block alone while others move.
/// The thread takes no signals and calls no MPI.
///
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, section 6.3 (DeepNVMe)
class TransferThread {
  public:
    struct Options {
        int depth = 32;  ///< blocks in flight
        std::int64_t block_bytes = std::int64_t{1} << 20;
        std::function<void()> when_done = {};  ///< called by the thread after each transfer
    };

    /// Errors: Error{resource} when the system has no thread
    explicit TransferThread(Options options);
    /// Returns when nothing is under way any more.
    ~TransferThread();
    TransferThread(const TransferThread&) = delete;
    TransferThread& operator=(const TransferThread&) = delete;

    /// \param before  called by the thread before the first byte moves
    /// \param after   called by it when all have moved; what it throws is an error of the transfer
    /// \returns the transfer's number
    /// \pre     nothing has been started
    int add(TransferKind kind,
            const std::vector<FileSegment>& segments,
            Urgency urgency = Urgency::urgent,
            std::function<void()> before = {},
            std::function<void()> after = {});

    /// \pre the transfer is new or was done
    void start(int transfer);
    /// Why blocks move one at a time; empty when they do not. See AioQueue.
    std::string why_not_asynchronous() const;
    /// Blocks that may be under way at a time.
    int depth() const;
    /// Whether all bytes have moved since start(); one atomic load.
    ///
    /// Errors: Error{resource} with path, offset and reason; every later transfer fails alike
    bool is_done(int transfer) const;

    std::int64_t bytes(int transfer) const {
        return transfers_.at(static_cast<std::size_t>(transfer))->bytes;
    }
    /// Bytes that it has given to the disk since it was added, counted as they are given.
    std::int64_t bytes_given(int transfer) const {
        return transfers_.at(static_cast<std::size_t>(transfer))->bytes_given.load(std::memory_order_relaxed);
    }
    /// Of each file that transfers name, in the order in which they came.
    std::vector<FileUse> uses() const;
    /// Time at which the transfer ended last, by monotonic_ns(); 0: never. \pre is_done
    std::int64_t ended_ns(int transfer) const {
        return transfers_.at(static_cast<std::size_t>(transfer))->ended_ns;
    }

  private:
    struct File {
        const DirectFile* file = nullptr;
        std::int64_t under_way = 0;      ///< blocks
        std::int64_t busy_since_ns = 0;  ///< while some are under way: up to where busy_ns counts
        std::atomic<std::int64_t> blocks{0}, bytes{0}, busy_ns{0};
    };
    struct Block {
        FileSegment segment;
        File* file = nullptr;
    };
    struct Transfer {
        TransferKind kind = TransferKind::read;
        Urgency urgency = Urgency::urgent;
        std::vector<Block> blocks;
        std::int64_t bytes = 0;
        std::function<void()> before, after;
        std::size_t missing = 0;  ///< blocks that have not moved
        std::int64_t ended_ns = 0;
        std::atomic<std::int64_t> bytes_given{0};
        std::atomic<bool> is_done{true};
    };

    /// Transfers of one urgency that have been started and not begun: a ring with room for every one.
    struct Started {
        std::vector<int> ring;
        std::size_t first = 0, count = 0;

        void put(int transfer);
        int take();
    };
    /// The transfer of one urgency whose blocks are being given to the queue.
    struct Giving {
        int transfer = -1;  ///< -1: none
        std::size_t next_block = 0;
    };

    File* file_of(const FileSegment& segment);
    void run();
    void move_all();
    /// Waits until something has been started. \returns whether so, and not that nothing is to come any more
    bool wait_for_start();
    /// Begins what has been started, of each urgency that gives no blocks.
    void begin_started();
    /// Gives one block to the queue, of the most urgent transfer that has any. \returns whether there was one
    bool give_block();
    void begin(int transfer);
    void give(AioQueue& queue, int transfer, std::size_t place);
    void end_block(std::uint64_t tag);
    void end(Transfer& transfer);

    Options options_;
    std::vector<std::unique_ptr<Transfer>> transfers_;
    std::vector<std::unique_ptr<File>> files_;
    std::mutex mutex_;
    std::condition_variable news_;
    std::array<Started, num_urgencies> started_;
    std::array<Giving, num_urgencies> giving_;  ///< the thread's own
    bool ends_ = false;
    std::unique_ptr<AioQueue> queue_;
    std::atomic<bool> has_failed_{false};
    std::exception_ptr failure_;
    std::thread thread_;
};

}  // namespace ziggurat::storage
