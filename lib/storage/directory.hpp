/// Operations on directories that checkpoints need.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ziggurat::storage {

/// Returns when the disk knows the directory's entries.
/// Errors: Error{resource}
void flush_directory(const std::string& path);

/// Returns when the disk has what was written to the open file `path`.
/// Errors: Error{resource}
void flush_file(int descriptor, const std::string& path);

/// Writes a small file and flushes it to the disk. What was there is gone.
/// Errors: Error{resource}; then no file is left
void write_small_file(const std::string& path, std::string_view text);

/// All of a file of at most so many bytes; nothing when there is none. Nothing is waited for: a pipe that
/// nobody writes to is no file.
///
/// Errors: Error{checkpoint} when it is no regular file, or larger; Error{resource} when the disk fails
std::optional<std::string> read_small_file(const std::string& path, std::int64_t most_bytes);

/// Renames a file or an empty place; an older file of the new name goes.
/// Errors: Error{resource}
void rename_path(const std::string& from, const std::string& to);

/// Exchanges two directories at one instant; false where the file system cannot.
/// Errors: Error{resource} for any other reason
bool exchange_paths(const std::string& a, const std::string& b);

/// Whether `path` lies on a file system of this machine alone, so that no other one makes files there.
bool is_local(const std::string& path) noexcept;

/// Whether the file system of `path` says how much it holds: one in memory may not.
/// Errors: Error{resource}
bool has_limited_space(const std::string& path);

/// Bytes on the file system of `path` that this user may still take.
/// Errors: Error{resource}
std::int64_t free_bytes(const std::string& path);

}  // namespace ziggurat::storage
