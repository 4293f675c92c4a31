/// Times of a rank's latest ops, in memory that other ranks of its node can read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "schedule/ids.hpp"

namespace ziggurat::train {

/// View of memory that the executor of one rank writes and all ranks of its node read for accounting.
///
/// It needs no messages and no locks. It keeps the last `steps_kept` steps of each op. This is sufficient: a
/// rank that accounts for step s + 1 reads the times of steps s and s + 1. No rank is ahead of step s + 2,
/// because the end of that step needs all ranks. No allocation.
class OpTimes {
  public:
    static constexpr std::int64_t steps_kept = 3;

    /// One execution of one op.
    struct Times {
        std::int64_t step = 0;
        std::int64_t begin_ns = 0;
        std::int64_t end_ns = 0;    ///< 0: running
        std::int64_t ready_ns = 0;  ///< time when all dependencies were met
        schedule::OpId after = -1;  ///< the dependency that was met last; -1: the op has no dependency
    };
    /// Period in which the thread of the rank worked on `op`.
    struct Work {
        schedule::OpId op = -1;
        std::int64_t begin_ns = 0;
        std::int64_t end_ns = 0;
    };

    static std::int64_t bytes_for(std::size_t num_ops) noexcept;

    /// \param memory  bytes_for(num_ops) bytes, zeroed before the first rank uses them, 64-byte aligned;
    ///                must outlive this object
    OpTimes(std::byte* memory, std::size_t num_ops) noexcept;

    // ---- called by the rank's executor

    void began(schedule::OpId op, const Times& times) noexcept;
    void ended(schedule::OpId op, std::int64_t step, std::int64_t end_ns) noexcept;
    /// Adds a period of work, in order of time; a directly following period of the same op is merged.
    void was_busy(const Work& work) noexcept;

    // ---- called by any rank

    std::optional<Times> of(schedule::OpId op, std::int64_t step) const noexcept;
    /// Returns the latest completed execution that had begun at `time_ns`.
    std::optional<Times> latest(schedule::OpId op, std::int64_t time_ns) const noexcept;
    /// Returns the number of the first work that ends after `time_ns`; later numbers follow in time.
    std::int64_t first_work_after(std::int64_t time_ns) const noexcept;
    /// Returns the work of this number; nullopt if it does not exist yet.
    std::optional<Work> work(std::int64_t number) const noexcept;

  private:
    struct Entry {
        std::atomic<std::int64_t> step_after;  ///< step + 1; 0: never begun
        std::atomic<std::int64_t> begin_ns, end_ns, ready_ns;
        std::atomic<std::int64_t> after;
    };
    struct WorkSlot {
        std::atomic<std::int64_t> op, begin_ns, end_ns;
    };
    static_assert(std::atomic<std::int64_t>::is_always_lock_free);

    static constexpr std::size_t works_per_op = 8;
    static std::size_t work_slots_for(std::size_t num_ops) noexcept { return works_per_op * num_ops + 16; }

    Entry& entry(schedule::OpId op, std::int64_t step) const noexcept;
    WorkSlot& work_slot(std::int64_t work) const noexcept;
    static std::optional<Times> read(const Entry& entry) noexcept;

    std::atomic<std::int64_t>* num_works_;
    std::span<Entry> entries_;
    std::span<WorkSlot> work_slots_;
};

}  // namespace ziggurat::train
