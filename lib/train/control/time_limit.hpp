/// Time by which a run has to stop so that its last checkpoint is complete within its limit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::train {

/// An end that somebody else has set, and what this run needs before it.
///
/// The margin is twice a step and a checkpoint, the slowest so far of each: what comes next may be slower
/// than all before.
class TimeLimit {
  public:
    /// \param end_ns      of monotonic_ns()
    /// \param source      who says so: `run.time_limit`
    /// \param checkpoint_seconds  what a checkpoint is thought to take until one was written
    TimeLimit(std::int64_t end_ns, std::string source, double checkpoint_seconds)
        : end_ns_{end_ns}, source_{std::move(source)}, guess_seconds_{checkpoint_seconds} {}

    void step_took(double seconds) noexcept { step_seconds_ = std::max(step_seconds_, seconds); }
    void checkpoint_took(double seconds) noexcept {
        checkpoint_seconds_ = std::max(checkpoint_seconds_, seconds);
    }

    double margin_seconds() const noexcept {
        return 2 * (step_seconds_ + (checkpoint_seconds_ > 0 ? checkpoint_seconds_ : guess_seconds_));
    }
    double seconds_left(std::int64_t now_ns = monotonic_ns()) const noexcept {
        return seconds_between(now_ns, end_ns_);
    }
    /// Another step might not end in time.
    bool is_near(std::int64_t now_ns = monotonic_ns()) const noexcept {
        return seconds_left(now_ns) < margin_seconds();
    }
    std::int64_t end_ns() const noexcept { return end_ns_; }
    const std::string& source() const noexcept { return source_; }

  private:
    std::int64_t end_ns_;
    std::string source_;
    double guess_seconds_;
    double step_seconds_ = 0;
    double checkpoint_seconds_ = 0;
};

/// The variable that sets an end from outside of the deck, for messages.
inline constexpr const char* stop_at_variable = "ZIGGURAT_STOP_AT";

/// The earlier of the deck's end, counted from `begin_ns`, and of `stop_at_ns`; both of monotonic_ns().
///
/// \param deck_source  who has set the deck's: the key, or `the end of Slurm job 7`
std::optional<TimeLimit> find_time_limit(const spec::RunSpec& spec,
                                         std::int64_t begin_ns,
                                         std::optional<std::int64_t> stop_at_ns,
                                         const std::string& deck_source = "run.time_limit");

}  // namespace ziggurat::train
