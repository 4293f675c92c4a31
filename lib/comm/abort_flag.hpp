/// Tells every waiting loop of a process to give up.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace ziggurat::comm {

class Liveness;

/// Raised once, by a signal handler or another lane; looked at by everyone who waits. Also where waits are
/// published, when somebody watches the ranks. Lock-free, so it may be raised in a signal handler.
class AbortFlag {
  public:
    AbortFlag() = default;
    /// \param liveness  of all ranks; outlives this
    explicit AbortFlag(Liveness* liveness) noexcept : liveness_{liveness} {}

    /// The first caller's exit code stays.
    void raise(int exit_code) noexcept {
        int none = 0;
        code_.compare_exchange_strong(none, exit_code);
    }
    bool is_raised() const noexcept { return code_.load(std::memory_order_relaxed) != 0 || is_job_ending(); }
    int exit_code() const noexcept { return code_.load(); }

    /// This rank waits for others: publishes it, once for each wait.
    ///
    /// Errors: Error{communication} that names what was being waited for, when the flag is up
    void check(std::string_view waiting_for) const;
    /// The wait is over.
    void moves() const noexcept;
    /// This rank begins to do `what`.
    void does(std::string_view what, std::int64_t since_ns) const noexcept;
    /// Somebody else judges waits that take too long: whoever waits need not.
    bool is_watched() const noexcept { return liveness_ != nullptr; }
    /// Looks after the other ranks at once; leaves if one is dead.
    void look() const;

  private:
    bool is_job_ending() const noexcept;

    Liveness* liveness_ = nullptr;
    std::atomic<int> code_{0};
    static_assert(std::atomic<int>::is_always_lock_free);
};

}  // namespace ziggurat::comm
