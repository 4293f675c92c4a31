/// Size and hash of data files: what tells two versions of a file apart without reading terabytes.
///
/// A file of up to 64 MiB is hashed whole, and an index whatever its size. Of a larger one 64 blocks of 1 MiB
/// are: the first, the last, and 62 evenly spaced ones between. Of more than 16 files less is hashed of each,
/// so that all together stay near 1 GiB: smaller blocks first (down to 64 KiB), then fewer (down to two).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/token_source.hpp"

namespace ziggurat::data {

/// A file, and where the deck names its source.
struct NamedFile {
    std::string key;  ///< data.train[0].path
    SourceFile source;
};

struct FileFingerprint {
    std::string key;  ///< place of the source in the deck
    std::string path;
    std::int64_t bytes = 0;
    std::int64_t hashed_bytes = 0;  ///< fewer than `bytes`: evenly spaced blocks
    std::uint64_t hash = 0;         ///< XXH3-64 of these, in order

    /// Samples of another length are of other blocks: then the sizes alone are compared.
    bool is_of_same_bytes(const FileFingerprint& other) const noexcept {
        return bytes == other.bytes && (hashed_bytes != other.hashed_bytes || hash == other.hash);
    }
    bool operator==(const FileFingerprint&) const = default;
};

/// Bytes to hash of each of so many files at most.
std::int64_t bytes_to_hash(std::size_t num_files) noexcept;

/// XXH3-64 of `content`, or of `most` bytes of it in evenly spaced blocks where it has more.
///
/// \param most  as of bytes_to_hash()
std::uint64_t sampled_hash(std::span<const std::byte> content, std::int64_t most);

/// Of one of `num_files` files, as it is mapped now.
FileFingerprint fingerprint(const NamedFile& file, std::size_t num_files);

/// Of all files, in their order. Reads: one rank of a node does it.
std::vector<FileFingerprint> fingerprints(const std::vector<NamedFile>& files);

/// A file that differs between two lists, matched by key and path.
struct FileChange {
    std::string key;
    std::string path;
    std::int64_t bytes_before = -1;  ///< -1: not in the first list
    std::int64_t bytes_after = -1;   ///< -1: not in the second

    bool operator==(const FileChange&) const = default;
};
std::vector<FileChange> changes(std::span<const FileFingerprint> before,
                                std::span<const FileFingerprint> after);

}  // namespace ziggurat::data
