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

/// End of a run that is set from outside, and the time that the run needs before it.
///
/// The margin is twice the time of the slowest step and the slowest checkpoint so far, because later ones may
/// be slower.
class TimeLimit {
  public:
    /// \param end_ns      in monotonic_ns()
    /// \param source      setting that defines the end, such as `run.time_limit`
    /// \param checkpoint_seconds  estimated time of a checkpoint until one has been written
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
    /// Returns true if another step might not end in time.
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

/// Name of the variable that sets an end outside of the deck, for messages.
inline constexpr const char* stop_at_variable = "ZIGGURAT_STOP_AT";

/// Returns the earlier of the deck's end and `stop_at_ns`; nullopt if neither is set.
///
/// The deck's end is counted from `begin_ns`. Both times are in monotonic_ns().
///
/// \param deck_source  source of the deck's end: its key, or a text such as `the end of Slurm job 7`
std::optional<TimeLimit> find_time_limit(const spec::RunSpec& spec,
                                         std::int64_t begin_ns,
                                         std::optional<std::int64_t> stop_at_ns,
                                         const std::string& deck_source = "run.time_limit");

}  // namespace ziggurat::train
