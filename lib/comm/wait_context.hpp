/// Context of a wait: the liveness that hears of it, and the work that goes on meanwhile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ziggurat::comm {

class Background;
class Liveness;

/// Whose work a rank waits for.
enum class Awaited {
    others,         ///< that of other ranks, or a transfer
    own_processor,  ///< its own device's, or that of a thread of its own that computes
};

/// Given by value to all that wait for other ranks. The objects that it refers to outlive it.
class WaitContext {
  public:
    /// Of a rank that nobody watches.
    WaitContext() = default;
    /// \param liveness  of all ranks
    explicit WaitContext(Liveness& liveness) noexcept : liveness_{&liveness} {}

    /// The same, with work to go on with in small exchanges (control.hpp): others may not come there before
    /// this rank has done its part of something larger.
    WaitContext going_on_with(Background& background) const noexcept;

    /// Publishes that this rank waits for `what`, once for each wait. To other ranks, one that waits for its
    /// own processor is at work.
    void publish(std::string_view what, Awaited whose = Awaited::others) const noexcept;
    /// The same, for waits that end with the job.
    ///
    /// Errors: Error{communication} that names `what`, when the job is being ended
    void check(std::string_view what, Awaited whose = Awaited::others) const;
    /// Does as much of the background as can be done now.
    void go_on() const;
    /// The wait is over.
    void moves() const noexcept;
    /// This rank begins to do `what`.
    void does(std::string_view what, std::int64_t since_ns) const noexcept;
    /// This rank has failed where nothing can be thrown: ends the job as Liveness::fail does. Where nobody
    /// watches, only prints `message`.
    void fail(int exit_code, const std::string& message) const;

    /// Waits that take too long are judged by the liveness: this rank need not.
    bool is_watched() const noexcept { return liveness_ != nullptr; }
    /// nullptr when nobody watches.
    Liveness* liveness() const noexcept { return liveness_; }

  private:
    Liveness* liveness_ = nullptr;
    Background* background_ = nullptr;
};

}  // namespace ziggurat::comm
