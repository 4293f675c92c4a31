/// The host and the cores of a rank.
#pragma once

#include <string>
#include <vector>

namespace ziggurat::train {

/// Place that one rank runs at.
struct RankPlace {
    std::string host;
    std::vector<int> cores;  ///< logical CPUs that the rank may use
    int threads = 1;         ///< of its compute lane
    /// Cores that the host's control group grants to all its ranks together; 0: no limit.
    int core_limit = 0;
    std::vector<int> whole_cores = {};  ///< that `cores` are of, each by a number of its own
    int job_cores = 0;                  ///< whole ones of the host that this job could use; 0: unknown

    bool operator==(const RankPlace&) const = default;
};

}  // namespace ziggurat::train
