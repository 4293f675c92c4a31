/// State on NVMe on its way into a checkpoint, beside the optimizer that has read it.
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
#include "train/step/action.hpp"

namespace ziggurat::train {

/// Between the thread that trains and the one that writes: in the step after the saved one, each update first
/// copies what it is going to change, and what lies on NVMe, into one of the few places of the program's save
/// ring. The writer takes them in the order of the updates. When all places are full, the update does not
/// begin; no thread waits for that.
///
/// One save at a time. Collective: local
class SaveStream {
  public:
    /// Touches the memory of the ring, so that the first save is not the one that pays for it.
    ///
    /// \param when_free  called by the thread that writes when an update may begin that might not before;
    ///                   quick, throws nothing
    SaveStream(const schedule::ModelLayout& model,
               const schedule::Program& train,
               const state::TierMemory& memory,
               std::function<void()> when_free);

    /// Some of what is saved passes by, and the program has a ring for it.
    bool is_there() const noexcept { return ring_ != nullptr; }

    // ---- of the thread that trains

    /// `update` as an op that lets what it changes pass, when a save wants it.
    ///
    /// \param stream  that it works on
    Action applied_to(int op, const device::Stream& stream, Action update);
    /// The updates of the next step are to let their state pass.
    ///
    /// \pre no op of a step is under way, and the writer of the last save has left
    void open();
    /// What has not passed is taken from home, where it lies as it is to be saved: an update that would have
    /// let it pass does not begin before the writer has left.
    ///
    /// \pre no op of a step is under way
    void stay_home();
    /// For which updates have waited since open().
    double waited_seconds() const noexcept { return static_cast<double>(waited_ns_.load()) * 1e-9; }
    /// Time for which an update was held up, for want of a place.
    struct Wait {
        std::int64_t begin_ns = 0;
        std::int64_t end_ns = 0;
    };
    /// All since forget_waits(), in order, as far as they have ended. Valid until the next call.
    std::span<const Wait> waits();
    void forget_waits() noexcept { told_waits_.clear(); }

    // ---- of the thread that writes

    /// Bytes of a buffer at home that are in memory now.
    struct Part {
        int home = -1;
        std::int64_t offset_bytes = 0;
        std::span<const std::byte> bytes;
    };
    enum class Next {
        parts,   ///< for take()
        later,   ///< nothing yet
        at_home  ///< nothing passes any more: all has, or the rest is where it lives
    };
    /// Tells what comes next; waits for it a few milliseconds where `waits`.
    Next next(bool waits);
    /// Hands over what one update has let pass; its place is free on return.
    ///
    /// \pre next() is parts
    void take(const std::function<void(const Part&)>& use);
    /// Nobody takes anything any more; nobody waits.
    void leave();

  private:
    struct PassingBytes {
        int home;
        std::int64_t home_offset;
        const std::byte* from;
        std::int64_t bytes;
    };
    struct Update {
        int op;
        std::vector<PassingBytes> passing;
        device::Event has_passed;
        bool has_place;  ///< of the ring, into which it is to let its state pass
    };

    /// Whether an update may begin: there is a place for what it lets pass, which is then its own, or it
    /// lets nothing pass.
    bool may_begin(std::size_t update);
    void pass(std::size_t update, const device::Stream& stream);
    /// Counts what has passed of what was told to. \pre the mutex is held
    void look();
    std::byte* place(std::size_t update) const;

    std::function<void()> when_free_;
    std::byte* ring_ = nullptr;
    std::int64_t place_bytes_ = 0;
    std::vector<Update> updates_;
    std::atomic<bool> is_open_{false};
    std::atomic<std::int64_t> waited_ns_{0};
    std::vector<Wait> waits_, told_waits_;  ///< with room for one of each update
    std::int64_t held_since_ns_ = 0;        ///< an update is held up; 0: none is
    std::mutex mutex_;
    std::condition_variable changed_;
    /// Updates: that have got a place, told to let their state pass, whose state has passed, and is taken.
    std::size_t placed_ = 0, called_ = 0, passed_ = 0, taken_ = 0;
    bool stays_home_ = false;
};

}  // namespace ziggurat::train
