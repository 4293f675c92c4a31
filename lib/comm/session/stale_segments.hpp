/// Stale segments: shared memory that remains if the ranks and launcher of Open MPI are killed.
#pragma once

#include <cstdint>
#include <string>

namespace ziggurat::comm {

/// Removes the segments of ranks that no longer exist.
///
/// These are files with names that Open MPI uses for `host` and `user`. They are owned by that user, older
/// than a minute, and not mapped or open in any process. A rank maps its segment immediately after it has
/// created it, until the rank ends. So an older, unmapped file is stale. If a file is removed wrongly,
/// processes that have mapped it keep the memory. If any process of the user, except process 1, cannot be
/// read, all segments are kept.
///
/// \param folder  `/dev/shm`
/// \param host    host name without its domain
/// \return number of removed segments
/// Collective: local; one rank per node is enough
int remove_stale_segments(const std::string& folder, const std::string& host, std::uint32_t user);

/// True if `name` is the name of a segment of Open MPI for `host` and `user`.
///
/// The form is `vader_segment.HOST.USER.JOB.RANK`, with the number of the job in hexadecimal digits.
bool is_segment_name(const std::string& name, const std::string& host, std::uint32_t user);

}  // namespace ziggurat::comm
