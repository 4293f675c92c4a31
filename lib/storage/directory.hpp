/// Operations on files and directories that checkpoints need.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ziggurat::storage {

/// Waits until the directory's entries are on the disk.
/// Errors: Error{resource}
void flush_directory(const std::string& path);

/// Waits until all data written to the open file `path` is on the disk.
/// Errors: Error{resource}
void flush_file(int descriptor, const std::string& path);

/// Writes a small file, which replaces an existing one, and flushes it to the disk.
/// Errors: Error{resource}; then no file is left
void write_small_file(const std::string& path, std::string_view text);

/// Reads a whole file of at most `max_bytes`; returns nullopt if it does not exist.
///
/// It never blocks: a pipe without a writer is an error.
///
/// Errors: Error{checkpoint} if it is not a regular file, or if it is larger; Error{resource} if the disk
///         fails
std::optional<std::string> read_small_file(const std::string& path, std::int64_t max_bytes);

/// Renames a file or directory; an existing file with the new name is replaced.
/// Errors: Error{resource}
void rename_path(const std::string& from, const std::string& to);

/// Exchanges two directories atomically; returns false if the file system does not support it.
/// Errors: Error{resource} for any other reason
bool exchange_paths(const std::string& a, const std::string& b);

/// Returns true if `path` is on a local file system, on which no other machine creates files.
bool is_local(const std::string& path) noexcept;

/// Returns true if the file system of `path` reports its size; one in memory may not.
/// Errors: Error{resource}
bool has_limited_space(const std::string& path);

/// Returns the free bytes on the file system of `path` that this user may use.
/// Errors: Error{resource}
std::int64_t free_bytes(const std::string& path);

}  // namespace ziggurat::storage
