/// What the disk does for a program that does nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ziggurat::perf {

/// Seconds to write a new file of the whole blocks of 4 MiB in `from`, which begins at a page, `depth` blocks
/// at a time, around the page cache where the file system has that, its space reserved first; with fsync.
/// From memory as large as the file: a few blocks that are used again and again stay in the processor's
/// caches, which the disks of virtual machines turn into half as much again (measured).
double plain_write_seconds(const std::string& path, std::span<const std::byte> from, int depth);

/// Seconds to read that file alike.
double plain_read_seconds(const std::string& path, std::span<std::byte> into, int depth);

}  // namespace ziggurat::perf
