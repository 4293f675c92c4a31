/// Figures of a step that ranks add up with its end.
#pragma once

#include <cstdint>

#include "schedule/volumes/link_traffic.hpp"

namespace ziggurat::train {

/// Of one rank on the way in, of all ranks on the way out. They travel with the step's small all-reduce, as
/// StepRequests do.
struct StepFigures {
    schedule::BytesByPurpose sent_bytes{};  ///< since the figures before; a sum over ranks
    schedule::BytesByLink link_bytes{};     ///< the same of what moved between tiers
    std::int64_t process_peak_bytes = 0;    ///< the greatest of all ranks
};

}  // namespace ziggurat::train
