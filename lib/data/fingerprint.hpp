/// Size and hash of data files, which distinguish versions of a file without reading terabytes.
///
/// A file of up to 64 MiB is hashed completely; an index always is. For a larger file 64 blocks of 1 MiB are
/// hashed: the first, the last, and 62 evenly spaced ones between them. With more than 16 files, less is
/// hashed of each, so that the total stays near 1 GiB: first with smaller blocks (down to 64 KiB), then with
/// fewer (down to two).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/stop_check.hpp"
#include "data/token_source.hpp"

namespace ziggurat::data {

/// A file, and the deck key of its source.
struct NamedFile {
    std::string key;  ///< data.train[0].path
    SourceFile source;
};

struct FileFingerprint {
    std::string key;  ///< deck key of the source
    std::string path;
    std::int64_t bytes = 0;
    std::int64_t hashed_bytes = 0;  ///< less than `bytes` if only evenly spaced blocks are hashed
    std::uint64_t hash = 0;         ///< XXH3-64 of the hashed bytes, in order

    /// True if the files match. If they were hashed in different blocks, only the sizes are compared.
    bool is_of_same_bytes(const FileFingerprint& other) const noexcept {
        return bytes == other.bytes && (hashed_bytes != other.hashed_bytes || hash == other.hash);
    }
    bool operator==(const FileFingerprint&) const = default;
};

/// Returns the maximum number of bytes to hash of each of `num_files` files.
std::int64_t bytes_to_hash(std::size_t num_files) noexcept;

/// Returns XXH3-64 of `content`, or of evenly spaced blocks if it has more than `max` bytes.
///
/// \param max   from bytes_to_hash()
/// \param stop  called for each 16 MiB
std::uint64_t sampled_hash(std::span<const std::byte> content, std::int64_t max, const StopCheck& stop = {});

/// Returns XXH3-64 of `content`.
///
/// \param stop  called for each 16 MiB
std::uint64_t whole_hash(std::span<const std::byte> content, const StopCheck& stop = {});

/// Returns the fingerprint of one of `num_files` files from its current mapping.
FileFingerprint fingerprint(const NamedFile& file, std::size_t num_files, const StopCheck& stop = {});

/// Returns the fingerprints of all files, in order. It reads them, so only one rank of a node calls it.
///
/// \param stop  called for each 16 MiB
std::vector<FileFingerprint> fingerprints(const std::vector<NamedFile>& files, const StopCheck& stop = {});

/// A file that differs between two lists, matched by key and path.
struct FileChange {
    std::string key;
    std::string path;
    std::int64_t bytes_before = -1;  ///< -1: not in the first list
    std::int64_t bytes_after = -1;   ///< -1: not in the second list

    bool operator==(const FileChange&) const = default;
};
std::vector<FileChange> changes(std::span<const FileFingerprint> before,
                                std::span<const FileFingerprint> after);

}  // namespace ziggurat::data
