/// Many transfers of files at a time, through Linux AIO.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/direct_file.hpp"

namespace ziggurat::storage {

/// Memory at an address that direct transfers take, reserved once.
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

/// Up to `depth` transfers in flight. Memory and file of one stay put until wait() has returned its tag, or
/// the queue is gone; its destructor waits for all of them.
///
/// The first few transfers, while they are small, are done when they are started: for so few, setting up what
/// others need costs more. So is each where the system grants no asynchronous ones (a container's filter, an
/// exhausted limit). Not thread-safe: one queue per thread.
class AioQueue {
  public:
    /// Number of transfers to come: asynchronous ones are set up at once for many.
    enum class Use { perhaps_few, many };

    explicit AioQueue(int depth, Use use = Use::perhaps_few);
    ~AioQueue();
    AioQueue(const AioQueue&) = delete;
    AioQueue& operator=(const AioQueue&) = delete;

    bool is_full() const noexcept { return free_slots_.size() <= num_withheld_; }
    bool is_idle() const noexcept;
    /// Transfers that may be in flight: fewer than asked for where the system's limit leaves no more.
    int depth() const noexcept;
    /// Why the system grants no asynchronous transfers; empty when it does, or was not asked.
    std::string why_not_asynchronous() const;

    /// Starts a transfer; `tag` is the caller's name for it. For a direct file, address, length and offset
    /// are multiples of page_bytes. Of a read, `needed_bytes` must arrive: less than `into` where the file
    /// may end.
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

    /// The tag of a transfer that has moved all of its bytes. What the system did only in part is finished.
    ///
    /// \pre !is_idle()
    /// Errors: Error{resource} with path, offset and reason
    std::uint64_t wait();

    /// Waits for all that is in flight and forgets it.
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
    std::vector<Slot*> done_;       // finished while being started
    std::size_t num_withheld_ = 0;  ///< slots for which the system grants no transfers
    int num_started_ = 0;
    std::unique_ptr<Context> context_;  // once it is worth it; last: it goes first, and waits
};

}  // namespace ziggurat::storage
