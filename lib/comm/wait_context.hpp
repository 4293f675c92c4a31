/// WaitContext: publication of waits to the liveness, and background work during waits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ziggurat::comm {

class BackgroundWork;
class Liveness;

/// Kind of work that a rank waits for.
enum class WaitTarget {
    others,      ///< work of other ranks, or a transfer
    own_device,  ///< work of the rank's own device or compute thread
};

/// Context of waits, passed by value to all code that waits for other ranks. Its objects outlive it.
class WaitContext {
  public:
    /// Creates a context without liveness.
    WaitContext() = default;
    /// \param liveness  liveness of all ranks
    explicit WaitContext(Liveness& liveness) noexcept : liveness_{&liveness} {}

    /// Returns a copy that also advances `background` while it waits in small collectives (control.hpp).
    ///
    /// Needed if peers cannot reach that collective before this rank has finished its part of a larger one.
    WaitContext with_background(BackgroundWork& background) const noexcept;

    /// Publishes that this rank waits for `what`. Repeated calls in one wait have no further effect.
    ///
    /// To other ranks, a rank that waits for its own processor counts as busy.
    void publish(std::string_view what, WaitTarget whose = WaitTarget::others) const noexcept;
    /// Variant of publish() that throws if the job is aborted.
    ///
    /// Errors: Error{communication} that names `what`, if the job is being aborted
    void check(std::string_view what, WaitTarget whose = WaitTarget::others) const;
    /// Advances the background work as far as possible now.
    void make_progress() const;
    /// Publishes that the wait has ended.
    void end_wait() const noexcept;
    /// Publishes that this rank starts to do `what`.
    void begin_activity(std::string_view what, std::int64_t since_ns) const noexcept;
    /// Aborts the job as Liveness::fail does; for failures where throwing is not possible.
    ///
    /// Without liveness, it only prints `message`.
    void fail(int exit_code, const std::string& message) const;

    /// True if the liveness detects waits that take too long, so the caller does not have to.
    bool is_watched() const noexcept { return liveness_ != nullptr; }
    /// nullptr without liveness.
    Liveness* liveness() const noexcept { return liveness_; }

  private:
    Liveness* liveness_ = nullptr;
    BackgroundWork* background_ = nullptr;
};

}  // namespace ziggurat::comm
