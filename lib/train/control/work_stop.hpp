/// Stop requests to work outside of training steps.
#pragma once

#include <cstdint>
#include <string>

#include "base/stop_check.hpp"
#include "train/control/stop_signals.hpp"
#include "train/control/time_limit.hpp"

namespace ziggurat::train {

/// Source of StopChecks: the start of a training, and commands without steps.
///
/// A signal or the end of the time stops the work. No checkpoint follows, so the time is used up to its end.
/// Collective: local. Any thread may call a check.
class WorkStop {
  public:
    /// \param signals  outlives this object and its checks
    explicit WorkStop(const StopSignals& signals) : signals_{signals} {}

    /// Sets the end of the time, in monotonic_ns(), unless an earlier end is set.
    ///
    /// \param source  setting that defines the end, such as `run.time_limit`
    /// \pre no other thread calls a check
    void end_at(std::int64_t end_ns, const std::string& source);
    void end_at(const TimeLimit& limit) { end_at(limit.end_ns(), limit.source()); }

    /// Returns the reason to stop now, such as `received SIGTERM`; empty without one.
    std::string reason() const;

    /// Returns a check that throws Stopped: `stopped while it ACTIVITY (REASON). REMEDY`
    ///
    /// \param activity  for example `encodes records`
    /// \param remedy    sentences: what is kept, and how to continue
    StopCheck check_of(std::string activity, std::string remedy = run_again) const;

    static constexpr const char* run_again = "Run the same command again; this work is repeated.";

  private:
    const StopSignals& signals_;
    std::int64_t end_ns_ = 0;  ///< 0: no end
    std::string source_;
};

/// Returns the text of Stopped: `stopped while it ACTIVITY (REASON). REMEDY`
std::string stopped_text(const std::string& activity, const std::string& reason, const std::string& remedy);

}  // namespace ziggurat::train
