/// Tells every waiting loop of a process to give up.
#pragma once

#include <atomic>
#include <string_view>

namespace ziggurat::comm {

/// Raised once, by a watchdog, a signal handler or another lane; looked at by everyone who waits.
/// Lock-free, so it may be raised in a signal handler.
class AbortFlag {
  public:
    /// The first caller's exit code stays.
    void raise(int exit_code) noexcept {
        int none = 0;
        code_.compare_exchange_strong(none, exit_code);
    }
    bool is_raised() const noexcept { return code_.load(std::memory_order_relaxed) != 0; }
    int exit_code() const noexcept { return code_.load(); }

    /// Errors: Error{communication} that names what was being waited for, when the flag is up
    void check(std::string_view waiting_for) const;

  private:
    std::atomic<int> code_{0};
    static_assert(std::atomic<int>::is_always_lock_free);
};

}  // namespace ziggurat::comm
