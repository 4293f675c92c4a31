/// Steps after which a pipeline without a flush is drained.
#pragma once

#include <algorithm>
#include <cstdint>

#include "spec/run_spec.hpp"

namespace ziggurat::train {

/// Returns the next step after `step` at which an interval of steps or tokens ends; at most `last`.
///
/// \param tokens  consumed up to `step`
inline std::int64_t next_end(const spec::Interval& every,
                             std::int64_t step,
                             std::int64_t tokens,
                             std::int64_t tokens_per_step,
                             std::int64_t last) {
    auto end = last;
    if (every.steps > 0) {
        end = std::min(end, (step / every.steps + 1) * every.steps);
    }
    if (every.tokens > 0) {
        const auto missing = (tokens / every.tokens + 1) * every.tokens - tokens;
        end = std::min(end, step + (missing + tokens_per_step - 1) / tokens_per_step);
    }
    return end;
}

/// Returns the next step after `step` at whose end the whole state is needed.
///
/// Requests and intervals in seconds are not known in advance, and are not included.
inline std::int64_t next_drain(const spec::RunSpec& run, std::int64_t step, std::int64_t tokens) {
    auto end = run.train.steps;
    for (const auto& every : {run.checkpoint.every, run.validate.every}) {
        if (every) {
            end = next_end(*every, step, tokens, run.train.global_batch * run.data.seq, end);
        }
    }
    return end;
}

}  // namespace ziggurat::train
