/// Number of targets that a training or a validation reads from a source.
#pragma once

#include <cstdint>
#include <optional>

#include "base/stop_check.hpp"
#include "data/token_source.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// Targets that count in the loss, in all whole sequences of a source.
struct TargetCount {
    std::int64_t trained = 0;
    std::int64_t held_out =
        0;                 ///< those of held_out; of a source of data.validation, `trained` are validated
    bool is_exact = true;  ///< false: the numbers are 1 if there is a target, else 0
};

/// Counts the targets of a source. Empty if every target counts.
///
/// Only the numbers of sources with a loss mask are exact: the others are read up to their first target.
///
/// \param tokens    as from open_arranged()
/// \param held_out  as there
/// Errors: Stopped
std::optional<TargetCount> count_targets(const TokenSource& tokens,
                                         const spec::Data& data,
                                         double held_out,
                                         const StopCheck& stop = {});

}  // namespace ziggurat::data
