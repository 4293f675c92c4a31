/// Ranks of this job on this machine as the system shows them, for the moment before they can talk.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::comm {

/// Place of a process in its job, as Open MPI's launcher tells it.
struct LaunchedRank {
    std::string job;  ///< PMIX_NAMESPACE
    int rank = 0;     ///< OMPI_COMM_WORLD_RANK
    int on_node = 1;  ///< OMPI_COMM_WORLD_LOCAL_SIZE

    bool operator==(const LaunchedRank&) const = default;
};

/// Reads an environment, a list of `name=value` each ended by a zero; nothing when it is not that of a rank.
std::optional<LaunchedRank> parse_launched_rank(std::string_view environment);

/// Says that ranks which were started here are no longer there; nothing when all are, or it cannot be known.
std::optional<std::string> describe_missing_ranks(const LaunchedRank& mine,
                                                  std::vector<int> found,
                                                  int world_size);

/// The same for this process's job, looked up among the processes that run this program here. Knows Open
/// MPI's launcher only.
std::optional<std::string> find_missing_ranks(int world_size);

}  // namespace ziggurat::comm
