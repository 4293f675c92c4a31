/// Times of a rank's latest ops in memory that other ranks of its node can read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace ziggurat::train {

/// A view of memory that one rank's executor writes and the accounts of all ranks of its node read, without
/// messages and without locks.
///
/// It keeps the last `steps_kept` steps of each op. That is enough: a rank that accounts for step s + 1 reads
/// times of steps s and s + 1, and no rank is further than s + 2, whose end needs all ranks. No allocation.
class OpTimes {
  public:
    static constexpr std::int64_t steps_kept = 3;

    /// One execution of one op.
    struct Times {
        std::int64_t step = 0;
        std::int64_t begin_ns = 0;
        std::int64_t end_ns = 0;    ///< 0: under way
        std::int64_t ready_ns = 0;  ///< when nothing was missing any more
        int after = -1;             ///< the op that was missing last; -1: none
    };
    /// The thread of the rank was at `op`.
    struct Work {
        int op = -1;
        std::int64_t begin_ns = 0;
        std::int64_t end_ns = 0;
    };

    static std::int64_t bytes_for(std::size_t num_ops) noexcept;

    /// \param memory  bytes_for(num_ops), zeroed before the first rank views it, 64-byte aligned; outlives
    /// this
    OpTimes(std::byte* memory, std::size_t num_ops) noexcept;

    // ---- of the rank's executor

    void began(int op, const Times& times) noexcept;
    void ended(int op, std::int64_t step, std::int64_t end_ns) noexcept;
    /// In order of time; what goes on at once is one.
    void was_busy(const Work& work) noexcept;

    // ---- of anybody

    std::optional<Times> of(int op, std::int64_t step) const noexcept;
    /// The latest execution that had begun at `time_ns` and is done.
    std::optional<Times> latest(int op, std::int64_t time_ns) const noexcept;
    /// The number of the first work that ends behind `time_ns`; the next ones follow in order of time.
    std::int64_t first_work_behind(std::int64_t time_ns) const noexcept;
    /// Nothing: there is none of that number yet.
    std::optional<Work> work(std::int64_t number) const noexcept;

  private:
    struct Entry {
        std::atomic<std::int64_t> step_after;  ///< 0: never begun
        std::atomic<std::int64_t> begin_ns, end_ns, ready_ns;
        std::atomic<std::int64_t> after;
    };
    struct WorkSlot {
        std::atomic<std::int64_t> op, begin_ns, end_ns;
    };
    static_assert(std::atomic<std::int64_t>::is_always_lock_free);

    static constexpr std::size_t works_per_op = 8;
    static std::size_t work_slots_for(std::size_t num_ops) noexcept { return works_per_op * num_ops + 16; }

    Entry& entry(int op, std::int64_t step) const noexcept;
    WorkSlot& work_slot(std::int64_t work) const noexcept;
    static std::optional<Times> read(const Entry& entry) noexcept;

    std::atomic<std::int64_t>* num_works_;
    std::span<Entry> entries_;
    std::span<WorkSlot> work_slots_;
};

}  // namespace ziggurat::train
