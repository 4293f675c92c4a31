/// Stop of long work on request, outside of training steps.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

namespace ziggurat {

/// Exception that ends work on request. Not an Error: handlers of errors do not catch it.
///
/// Its text names the work, the reason, and how to continue. The process exits with exit_code_run_again.
class Stopped : public std::runtime_error {
  public:
    /// \param is_on_all_ranks  true if all ranks of the job throw it together
    explicit Stopped(const std::string& text, bool is_on_all_ranks = false)
        : std::runtime_error{text}, is_on_all_ranks_{is_on_all_ranks} {}

    bool is_on_all_ranks() const noexcept { return is_on_all_ranks_; }

  private:
    bool is_on_all_ranks_;
};

/// Check that long work calls at least once a second. Throws Stopped if the work must end. Any thread.
///
/// Empty: the work cannot be stopped.
using StopCheck = std::function<void()>;

/// Calls `stop` unless it is empty.
inline void check(const StopCheck& stop) {
    if (stop) {
        stop();
    }
}

}  // namespace ziggurat
