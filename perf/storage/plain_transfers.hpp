/// What the disk does for a program that does nothing else.
#pragma once

#include <cstdint>
#include <string>

namespace ziggurat::perf {

/// Seconds to write a new file of `bytes` from one aligned memory in transfers of 4 MiB, `depth` at a time,
/// around the page cache where the file system has that, its space reserved first; with fsync.
double plain_write_seconds(const std::string& path, std::int64_t bytes, int depth);

/// Seconds to read that file alike into memory of `depth` transfers.
double plain_read_seconds(const std::string& path, std::int64_t bytes, int depth);

}  // namespace ziggurat::perf
