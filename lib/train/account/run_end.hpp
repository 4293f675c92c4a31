/// Facts of a run that has ended.
#pragma once

#include <cstdint>
#include <string>

#include "schedule/step_program.hpp"
#include "schedule/volumes/link_traffic.hpp"

namespace ziggurat::train {

/// Results of a whole run, written once as `event: end`.
struct RunEnd {
    std::int64_t step = 0;
    std::int64_t tokens = 0;
    double wall_s = 0;
    int exit_code = 0;
    bool lacks_validation = false;  ///< all steps are done, but the validation after the last one was stopped
    /// Reason of the end. The training loop leaves it empty, except if validation losses ended the run.
    std::string reason = {};
    std::uint64_t weights_hash = 0;                            ///< of all master weights, to compare two runs
    schedule::BytesByPurpose sent_bytes{}, planned_bytes{};    ///< of all ranks and all steps of the run
    std::string rank_lines = {};                               ///< of ranks.jsonl, on rank 0
    schedule::BytesByLink link_bytes{}, planned_link_bytes{};  ///< between tiers, of all ranks and steps
};

}  // namespace ziggurat::train
