/// Stale segments: those that Open MPI leaves in shared memory when its launcher and all ranks are killed at
/// once.
#pragma once

#include <cstdint>
#include <string>

namespace ziggurat::comm {

/// Removes the segments of ranks that are gone: files called as Open MPI calls those of `host` and `user`, of
/// that user, older than a minute, that no process has mapped or open. A rank maps its segment as soon as it
/// has made it and until it ends, so a file that is older and mapped by nobody is nobody's; one that is
/// removed all the same stays with those that have mapped it. Where a process of the user, but for the first
/// of the system, does not let itself be looked at, nothing is removed.
///
/// \param folder  `/dev/shm`
/// \param host    without its domain
/// \return number of segments removed
/// Collective: local; of the ranks of a node one is enough
int remove_stale_segments(const std::string& folder, const std::string& host, std::uint32_t user);

/// True for a `name` that Open MPI gives to a segment of `host` and `user`:
/// `vader_segment.HOST.USER.JOB.RANK`, with the number of the job in hexadecimal digits.
bool is_segment_name(const std::string& name, const std::string& host, std::uint32_t user);

}  // namespace ziggurat::comm
