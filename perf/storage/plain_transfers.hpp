/// Plain transfers: the disk's rate for a program that does nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ziggurat::perf {

/// Writes a new file in blocks of 4 MiB, `depth` at a time, and returns the seconds, fsync included.
///
/// `from` holds whole blocks and begins at a page boundary. The space is reserved first. Uses O_DIRECT if the
/// file system supports it. The source memory is as large as the file: a few blocks used again and again stay
/// in the processor's caches, which makes the disks of virtual machines 1.5 times as fast (measured).
double plain_write_seconds(const std::string& path, std::span<const std::byte> from, int depth);

/// Returns the seconds to read that file in the same way.
double plain_read_seconds(const std::string& path, std::span<std::byte> into, int depth);

}  // namespace ziggurat::perf
