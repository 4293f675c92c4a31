/// Schedule of an action at intervals of steps, tokens or seconds.
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::train {

/// Interval of a deck, by steps, tokens or time; the first one that elapses counts.
class IntervalTrigger {
  public:
    /// \param tokens  consumed so far, if the run resumes
    explicit IntervalTrigger(const spec::Interval& every, std::int64_t tokens = 0)
        : every_{every}, last_tokens_{tokens} {}

    /// Returns true if an interval ends at `steps` (from 1) and `tokens`, and then starts the next one.
    bool is_due(std::int64_t steps, std::int64_t tokens, std::int64_t now_ns = monotonic_ns()) {
        const bool due = (every_.steps > 0 && steps % every_.steps == 0) ||
                         (every_.tokens > 0 && tokens / every_.tokens > last_tokens_ / every_.tokens) ||
                         (every_.seconds > 0 && seconds_between(last_ns_, now_ns) >= every_.seconds);
        if (due) {
            last_tokens_ = tokens;
            last_ns_ = now_ns;
        }
        return due;
    }

  private:
    spec::Interval every_;
    std::int64_t last_tokens_;
    std::int64_t last_ns_ = monotonic_ns();
};

}  // namespace ziggurat::train
