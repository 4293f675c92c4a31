/// What a run says first: which program, where, on what and what it is about to do.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ziggurat::train {

/// Where one rank runs.
struct RankPlace {
    std::string host;
    std::vector<int> cores;  ///< logical CPUs that the rank may use
    int threads = 1;         ///< of its compute lane
    /// Cores that the host's control group grants to all its ranks together; 0: no limit.
    int core_limit = 0;
    int host_cores = 0;  ///< logical CPUs of the host that are switched on; 0: unknown

    bool operator==(const RankPlace&) const = default;
};

/// One entry of the banner; `text` may have several lines.
struct BannerEntry {
    std::string label;
    std::string text;
};

/// `label     text`, continuation lines indented to the text.
std::string banner(std::span<const BannerEntry> entries);

/// `2 ranks on 1 node, 1 thread each, 2 cores (host)`: nodes with the same make-up share a line.
std::string describe_places(std::span<const RankPlace> ranks);

/// A warning with its remedy for each node whose threads are more than its cores; empty when all is well.
std::vector<std::string> oversubscription_warnings(std::span<const RankPlace> ranks);

}  // namespace ziggurat::train
