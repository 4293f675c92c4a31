/// Queue of concurrent file transfers with Linux AIO.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/direct_file.hpp"

namespace ziggurat::storage {

/// Memory with the alignment that O_DIRECT transfers need, allocated once.
class AlignedBuffer {
  public:
    AlignedBuffer() = default;
    /// Errors: Error{resource}
    explicit AlignedBuffer(std::int64_t bytes);

    std::span<std::byte> bytes() const noexcept { return {data_.get(), static_cast<std::size_t>(size_)}; }

  private:
    struct Release {
        void operator()(std::byte* data) const noexcept;
    };
    std::unique_ptr<std::byte, Release> data_;
    std::int64_t size_ = 0;
};

/// Queue with up to `depth` transfers in flight.
///
/// Memory and file of a transfer must stay valid until wait() has returned its tag, or until the queue is
/// destroyed. The destructor waits for all transfers.
///
/// The first few transfers are done synchronously if they are small, because the setup of asynchronous
/// transfers costs more. All transfers are synchronous if the system does not grant asynchronous ones (a
/// container's filter, an exhausted limit). Not thread-safe: one queue per thread.
class AioQueue {
  public:
    /// Expected number of transfers: for many, asynchronous transfers are set up at once.
    enum class QueueUse { perhaps_few, many };

    explicit AioQueue(int depth, QueueUse use = QueueUse::perhaps_few);
    ~AioQueue();
    AioQueue(const AioQueue&) = delete;
    AioQueue& operator=(const AioQueue&) = delete;

    bool is_full() const noexcept { return free_slots_.size() <= num_withheld_; }
    bool is_idle() const noexcept;
    /// Returns the maximum number of transfers in flight; a limit of the system can lower it.
    int depth() const noexcept;
    /// Returns the reason why transfers are not asynchronous; empty if they are, or are not set up yet.
    std::string not_asynchronous_reason() const;

    /// Starts a transfer; wait() returns its `tag`.
    ///
    /// For a direct file, address, length and offset must be multiples of page_bytes. A read must return
    /// `needed_bytes`, which can be less than the size of `into` at the end of a file.
    ///
    /// \pre !is_full()
    /// Errors: Error{resource}
    void read(DirectFile& file,
              std::int64_t offset_bytes,
              std::span<std::byte> into,
              std::int64_t needed_bytes,
              std::uint64_t tag);
    void write(DirectFile& file,
               std::int64_t offset_bytes,
               std::span<const std::byte> from,
               std::uint64_t tag);

    /// Waits for a transfer that has moved all its bytes; returns its tag.
    ///
    /// It completes transfers that the system has done only partially.
    ///
    /// \pre !is_idle()
    /// Errors: Error{resource} with path, offset and reason
    std::uint64_t wait();

    /// Waits for all transfers in flight and discards them.
    void drain() noexcept;

  private:
    struct Slot;
    struct Context;

    void set_up();
    bool is_worth_it(const Slot& slot);
    Slot& take_slot(DirectFile& file, std::int64_t offset_bytes, std::uint64_t tag);
    void submit(Slot& slot);
    void finish(Slot& slot, long moved);

    std::vector<Slot> slots_;
    std::vector<Slot*> free_slots_;
    std::vector<Slot*> done_;       // synchronous transfers that are done
    std::size_t num_withheld_ = 0;  ///< slots for which the system grants no transfers
    int num_started_ = 0;
    std::unique_ptr<Context> context_;  // created when it pays off; last member: its destructor waits
};

}  // namespace ziggurat::storage
