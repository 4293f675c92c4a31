/// The host and the cores of a rank.
#pragma once

#include <string>
#include <vector>

namespace ziggurat::train {

/// Placement of one rank: its host and cores.
struct RankPlacement {
    std::string host;
    std::vector<int> cores;  ///< logical CPUs that the rank may use
    int threads = 1;         ///< number of threads of its compute lane
    /// Number of cores that the host's control group grants to all its ranks together; 0: no limit.
    int core_limit = 0;
    std::vector<int> whole_cores = {};  ///< numbers of the physical cores that contain `cores`
    int job_cores = 0;                  ///< physical cores of the host that this job may use; 0: unknown

    bool operator==(const RankPlacement&) const = default;
};

}  // namespace ziggurat::train
