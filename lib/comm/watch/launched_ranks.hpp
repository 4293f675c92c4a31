/// Ranks of this job on this node according to the system, used before the ranks are connected.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::comm {

/// Position of a process in its job, from the environment of Open MPI's launcher.
struct LaunchedRank {
    std::string job;  ///< PMIX_NAMESPACE
    int rank = 0;     ///< OMPI_COMM_WORLD_RANK
    int on_node = 1;  ///< OMPI_COMM_WORLD_LOCAL_SIZE

    bool operator==(const LaunchedRank&) const = default;
};

/// Parses an environment of `name=value` entries, each ended by a zero.
///
/// Returns nullopt if it is not a rank's.
std::optional<LaunchedRank> parse_launched_rank(std::string_view environment);

/// Describes ranks that were started here but no longer exist; nullopt if none is known to be missing.
std::optional<std::string> describe_missing_ranks(const LaunchedRank& mine,
                                                  std::vector<int> found,
                                                  int world_size);

/// Describes missing ranks of this process's job, found among the processes that run this program here.
///
/// Supports only Open MPI's launcher.
std::optional<std::string> find_missing_ranks(int world_size);

/// Describes a rank of this process's job on this node that is stopped; nullopt if none is known to be.
///
/// Supports only Open MPI's launcher.
std::optional<std::string> find_stopped_rank();

}  // namespace ziggurat::comm
