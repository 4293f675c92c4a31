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
constexpr std::int64_t max_of_a_file = std::int64_t{64} << 20;
constexpr std::int64_t max_blocks = 64;
constexpr std::int64_t min_block = std::int64_t{64} << 10;

/// Evenly spaced blocks of a file, including the first and the last; or one block, the whole file.
struct Sample {
    std::int64_t blocks = 1;
    std::int64_t block_bytes = 0;

    Sample(std::int64_t bytes, std::int64_t max)
        : blocks{bytes <= max ? 1 : max / block_of(max)}, block_bytes{bytes <= max ? bytes : block_of(max)} {}

    static std::int64_t block_of(std::int64_t max) { return std::max(min_block, max / max_blocks); }
    std::int64_t bytes() const { return blocks * block_bytes; }
};

struct StateDeleter {
    void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
};

/// XXH3-64 of bytes that are added one after another.
class RunningHash {
  public:
    explicit RunningHash(const StopCheck& stop) : stop_{stop} { XXH3_64bits_reset(state_.get()); }

    void add(std::span<const std::byte> bytes) {
        for (std::size_t at = 0; at < bytes.size(); at += bytes_between_checks) {
            check(stop_);
            const auto part = bytes.subspan(at, std::min(bytes_between_checks, bytes.size() - at));
            XXH3_64bits_update(state_.get(), part.data(), part.size());
        }
    }
    std::uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

  private:
    static constexpr std::size_t bytes_between_checks = std::size_t{16} << 20;

    const StopCheck& stop_;
    std::unique_ptr<XXH3_state_t, StateDeleter> state_{XXH3_createState()};
};

}  // namespace

std::int64_t bytes_to_hash(std::size_t num_files) noexcept {
    const auto files = static_cast<std::int64_t>(std::max<std::size_t>(num_files, 1));
    const std::int64_t share = std::clamp(bytes_of_all_files / files, 2 * min_block, max_of_a_file);
    return share / min_block * min_block;
}

std::uint64_t sampled_hash(std::span<const std::byte> content, std::int64_t max, const StopCheck& stop) {
    ZG_EXPECTS(max >= 2 * min_block);
    const Sample sample{std::ssize(content), max};
    const std::int64_t last = std::ssize(content) - sample.block_bytes;
    const std::int64_t gaps = std::max<std::int64_t>(sample.blocks - 1, 1);
    RunningHash hash{stop};
    for (std::int64_t i = 0; i < sample.blocks; ++i) {
        const std::int64_t offset = last / gaps * i + last % gaps * i / gaps;  // last * i / gaps, in 63 bits
        hash.add(content.subspan(offset, sample.block_bytes));
    }
    return hash.value();
}

std::uint64_t whole_hash(std::span<const std::byte> content, const StopCheck& stop) {
    RunningHash hash{stop};
    hash.add(content);
    return hash.value();
}

FileFingerprint fingerprint(const NamedFile& file, std::size_t num_files, const StopCheck& stop) {
    const MappedFile& mapped = *file.source.file;
    const std::int64_t share = bytes_to_hash(num_files);
    const auto content = mapped.content().first(mapped.bytes() - file.source.seal_bytes);
    const std::int64_t bytes = std::ssize(content);
    const std::int64_t max = file.source.is_index ? std::max(bytes, share) : share;
    return {.key = file.key,
            .path = mapped.path(),
            .bytes = bytes,
            .hashed_bytes = Sample{bytes, max}.bytes(),
            .hash = sampled_hash(content, max, stop)};
}

std::vector<FileFingerprint> fingerprints(const std::vector<NamedFile>& files, const StopCheck& stop) {
    std::vector<FileFingerprint> made;
    made.reserve(files.size());
    for (const NamedFile& file : files) {
        made.push_back(fingerprint(file, files.size(), stop));
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
