#include "data/fingerprint.hpp"

#include <xxhash.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/contract.hpp"

namespace ziggurat::data {
namespace {

constexpr std::int64_t bytes_of_all_files = std::int64_t{1} << 30;
constexpr std::int64_t most_of_a_file = std::int64_t{64} << 20;
constexpr std::int64_t most_blocks = 64;
constexpr std::int64_t least_block = std::int64_t{64} << 10;

/// Evenly spaced blocks of a file, including the first and the last; or one block, the whole file.
struct Sample {
    std::int64_t blocks = 1;
    std::int64_t block_bytes = 0;

    Sample(std::int64_t bytes, std::int64_t most)
        : blocks{bytes <= most ? 1 : most / block_of(most)},
          block_bytes{bytes <= most ? bytes : block_of(most)} {}

    static std::int64_t block_of(std::int64_t most) { return std::max(least_block, most / most_blocks); }
    std::int64_t bytes() const { return blocks * block_bytes; }
};

struct StateDeleter {
    void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
};

}  // namespace

std::int64_t bytes_to_hash(std::size_t num_files) noexcept {
    const auto files = static_cast<std::int64_t>(std::max<std::size_t>(num_files, 1));
    const std::int64_t share = std::clamp(bytes_of_all_files / files, 2 * least_block, most_of_a_file);
    return share / least_block * least_block;
}

std::uint64_t sampled_hash(std::span<const std::byte> content, std::int64_t most) {
    ZG_EXPECTS(most >= 2 * least_block);
    const Sample sample{std::ssize(content), most};
    const std::int64_t last = std::ssize(content) - sample.block_bytes;
    const std::int64_t gaps = std::max<std::int64_t>(sample.blocks - 1, 1);
    const std::unique_ptr<XXH3_state_t, StateDeleter> state{XXH3_createState()};
    XXH3_64bits_reset(state.get());
    for (std::int64_t i = 0; i < sample.blocks; ++i) {
        const std::int64_t offset = last / gaps * i + last % gaps * i / gaps;  // last * i / gaps, in 63 bits
        XXH3_64bits_update(state.get(), content.data() + offset,
                           static_cast<std::size_t>(sample.block_bytes));
    }
    return XXH3_64bits_digest(state.get());
}

FileFingerprint fingerprint(const NamedFile& file, std::size_t num_files) {
    const MappedFile& mapped = *file.source.file;
    const std::int64_t share = bytes_to_hash(num_files);
    const std::int64_t most = file.source.is_index ? std::max(mapped.bytes(), share) : share;
    return {.key = file.key,
            .path = mapped.path(),
            .bytes = mapped.bytes(),
            .hashed_bytes = Sample{mapped.bytes(), most}.bytes(),
            .hash = sampled_hash(mapped.content(), most)};
}

std::vector<FileFingerprint> fingerprints(const std::vector<NamedFile>& files) {
    std::vector<FileFingerprint> made;
    made.reserve(files.size());
    for (const NamedFile& file : files) {
        made.push_back(fingerprint(file, files.size()));
    }
    return made;
}

std::vector<FileChange> changes(std::span<const FileFingerprint> before,
                                std::span<const FileFingerprint> after) {
    std::map<std::pair<std::string, std::string>, const FileFingerprint*> known;
    for (const FileFingerprint& file : before) {
        known[{file.key, file.path}] = &file;
    }
    std::vector<FileChange> found;
    for (const FileFingerprint& file : after) {
        const auto at = known.find({file.key, file.path});
        if (at == known.end()) {
            found.push_back({file.key, file.path, -1, file.bytes});
            continue;
        }
        if (!at->second->is_of_same_bytes(file)) {
            found.push_back({file.key, file.path, at->second->bytes, file.bytes});
        }
        known.erase(at);
    }
    for (const FileFingerprint& file : before) {
        if (known.contains({file.key, file.path})) {
            found.push_back({file.key, file.path, file.bytes, -1});
        }
    }
    return found;
}

}  // namespace ziggurat::data
