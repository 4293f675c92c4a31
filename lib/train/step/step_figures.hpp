/// Figures of a step that are reduced over all ranks at its end.
#pragma once

#include <cstdint>

#include "schedule/volumes/link_traffic.hpp"

namespace ziggurat::train {

/// Figures of one rank before the step's small all-reduce, and of all ranks after it.
///
/// They are part of the same all-reduce as StepRequests.
struct StepFigures {
    schedule::BytesByPurpose sent_bytes{};  ///< bytes sent since the previous figures; sum over ranks
    schedule::BytesByLink link_bytes{};     ///< bytes moved between tiers since then; sum over ranks
    std::int64_t process_peak_bytes = 0;    ///< maximum over ranks
};

}  // namespace ziggurat::train
