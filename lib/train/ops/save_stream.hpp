/// Stream of NVMe-resident state into a checkpoint, taken from the optimizer updates that read it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "device/event.hpp"
#include "device/stream.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/passes/save_ring_pass.hpp"
#include "schedule/step_program.hpp"
#include "state/tier_memory.hpp"
#include "train/ops/action.hpp"

namespace ziggurat::train {

/// Stream of saved state from the training thread to the writer thread.
///
/// It works in the step after the saved step. Each update first copies the NVMe-resident state that it is
/// going to change into one slot of the program's save ring. The writer reads the slots in the order of the
/// updates. If all slots are full, the update does not begin, but no thread blocks.
///
/// One save at a time. Collective: local
class SaveStream {
  public:
    /// Touches the pages of the ring, so that the first save is not slowed down by page faults.
    ///
    /// \param when_free  called by the writer thread when a held update may begin; must be fast and must not
    ///                   throw
    SaveStream(const schedule::ModelLayout& model,
               const schedule::Program& train,
               const state::TierMemory& memory,
               std::function<void()> when_free);

    /// Returns true if updates stream saved state, and the program has a save ring for it.
    bool is_present() const noexcept { return ring_ != nullptr; }

    // ---- called by the training thread

    /// Returns `update`, extended by the copy of its state into the ring during a save.
    ///
    /// \param stream  stream that the update runs on
    Action applied_to(schedule::OpId op, const device::Stream& stream, Action update);
    /// Starts a save: the updates of the next step copy their state into the ring.
    ///
    /// \pre no op of a step is running, and the writer of the last save has called close()
    void open();
    /// Makes the writer read the remaining state from its home, where it still has the values to be saved.
    ///
    /// Updates that would have streamed it do not begin before the writer has called close().
    ///
    /// \pre no op of a step is running
    void read_rest_from_home();
    /// Returns the time for which updates have waited since open(), in seconds.
    double waited_seconds() const noexcept { return static_cast<double>(waited_ns_.load()) * 1e-9; }
    /// Period in which an update was held because no slot was free.
    struct Wait {
        std::int64_t begin_ns = 0;
        std::int64_t end_ns = 0;
    };
    /// Returns all completed waits since forget_waits(), in order. Valid until the next call.
    std::span<const Wait> waits();
    void forget_waits() noexcept { reported_waits_.clear(); }

    // ---- called by the writer thread

    /// Range of a home buffer whose bytes are in the ring.
    struct Part {
        int home = -1;
        std::int64_t offset_bytes = 0;
        std::span<const std::byte> bytes;
    };
    enum class Next {
        parts,   ///< parts are ready for take()
        later,   ///< no parts are ready yet
        at_home  ///< no parts follow: all state was streamed, or the rest must be read from its home
    };
    /// Returns the state of the stream; with `waits`, it waits a few milliseconds for a change.
    Next next(bool waits);
    /// Calls `use` for the parts of one update; its slot is free on return.
    ///
    /// \pre next() is parts
    void take(const std::function<void(const Part&)>& use);
    /// Closes the stream for the writer: updates no longer copy their state, and no update is held.
    void close();

  private:
    struct PassingBytes {
        int home;
        std::int64_t home_offset;
        const std::byte* from;
        std::int64_t bytes;
    };
    struct Update {
        schedule::OpId op;
        std::vector<PassingBytes> passing;
        device::Event has_passed;
        bool has_slot;  ///< a slot of the ring is reserved for its state
    };

    /// Returns true if an update may begin: it has reserved a slot for its state, or it needs no slot.
    bool may_begin(std::size_t update);
    void pass(std::size_t update, const device::Stream& stream);
    /// Counts the updates whose copies into the ring are complete. \pre the mutex is held
    void check_now();
    std::byte* position(std::size_t update) const;

    std::function<void()> when_free_;
    std::byte* ring_ = nullptr;
    std::int64_t place_bytes_ = 0;
    std::vector<Update> updates_;
    std::atomic<bool> is_open_{false};
    std::atomic<std::int64_t> waited_ns_{0};
    std::vector<Wait> waits_, reported_waits_;  ///< capacity: one wait for each update
    std::int64_t held_since_ns_ = 0;            ///< time since which an update is held; 0: no update is held
    std::mutex mutex_;
    std::condition_variable changed_;
    /// Numbers of updates: with a reserved slot, with an issued copy, with a complete copy, and written.
    std::size_t placed_ = 0, called_ = 0, passed_ = 0, taken_ = 0;
    bool stays_home_ = false;
};

}  // namespace ziggurat::train
