#include "checkpoint/file_check.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <map>

#include "base/error.hpp"
#include "checkpoint/shard/shard_file.hpp"
#include "checkpoint/shard/shard_output.hpp"
#include "checkpoint/verify.hpp"

namespace ziggurat::checkpoint {
namespace {

/// Ranges of a file in order: blocks of pieces, and the bytes between pieces in equal blocks.
struct Cut {
    std::vector<FileRange> ranges;
    std::vector<std::pair<std::size_t, std::int64_t>> blocks;  // piece (or no_piece) and block number
};

/// Minimum number of ranges in a file for which a second thread pays off.
constexpr std::size_t ranges_of_two_threads = 16;

constexpr std::size_t no_piece = -1;

void add(Cut& cut, std::int64_t begin, std::int64_t end, std::size_t piece) {
    for (std::int64_t number = 0; begin < end; ++number) {
        const std::int64_t bytes = std::min(hash_block_bytes, end - begin);
        cut.ranges.push_back({begin, bytes});
        cut.blocks.emplace_back(piece, number);
        begin += bytes;
    }
}

/// Collects the bytes of ranges that belong to hash tables of pieces.
class Tables {
  public:
    explicit Tables(const Manifest& manifest, const std::vector<std::size_t>& pieces) : manifest_{manifest} {
        for (const std::size_t piece : pieces) {
            const StoredPiece& stored = manifest.pieces[piece];
            by_offset_.emplace(stored.table_offset_bytes, piece);
            bytes_[piece].resize(table_bytes(stored.piece));
        }
    }

    void keep(std::int64_t offset_bytes, std::span<const std::byte> bytes) {
        const std::int64_t end = offset_bytes + std::ssize(bytes);
        auto table = by_offset_.lower_bound(offset_bytes);
        if (table != by_offset_.begin()) {
            --table;  // may overlap the beginning of the range
        }
        for (; table != by_offset_.end() && table->first < end; ++table) {
            std::vector<std::byte>& into = bytes_.at(table->second);
            const std::int64_t from = std::max(offset_bytes, table->first);
            const std::int64_t to = std::min(end, table->first + std::ssize(into));
            if (from < to) {
                std::memcpy(into.data() + (from - table->first), bytes.data() + (from - offset_bytes),
                            static_cast<std::size_t>(to - from));
            }
        }
    }

    bool is_right(std::size_t piece) const {
        const std::vector<std::byte>& table = bytes_.at(piece);
        return XXH3_64bits(table.data(), table.size()) == manifest_.pieces[piece].hash_of_table;
    }
    std::uint64_t hash(std::size_t piece, std::int64_t block) const {
        std::uint64_t value = 0;
        std::memcpy(&value, bytes_.at(piece).data() + block * static_cast<std::int64_t>(sizeof value),
                    sizeof value);
        return value;
    }

  private:
    const Manifest& manifest_;
    std::map<std::int64_t, std::size_t> by_offset_;
    std::map<std::size_t, std::vector<std::byte>> bytes_;
};

std::int64_t largest_range(const Manifest& manifest) {
    std::int64_t max = 0;
    for (const FileEntry& entry : manifest.files) {
        max = std::max(max, entry.bytes);
    }
    return std::min(max, hash_block_bytes);
}

}  // namespace

FileCheck::FileCheck(const CheckpointFiles& files, const Manifest& manifest, Progress progress)
    : files_{files},
      manifest_{manifest},
      progress_{std::move(progress)},
      pieces_of_(manifest.files.size()),
      reader_{largest_range(manifest)} {
    for (const FileEntry& entry : manifest.files) {
        all_bytes_ += entry.bytes;
    }
    for (std::size_t k = 0; k < manifest.pieces.size(); ++k) {
        pieces_of_[manifest.pieces[k].file].push_back(k);
    }
    for (std::vector<std::size_t>& pieces : pieces_of_) {
        std::sort(pieces.begin(), pieces.end(), [&](std::size_t a, std::size_t b) {
            return manifest.pieces[a].offset_bytes < manifest.pieces[b].offset_bytes;
        });
    }
}

bool FileCheck::check(std::size_t file, CheckScope extent, std::vector<Defect>& defects) {
    const FileEntry& entry = manifest_.files[file];
    if (const std::optional<std::string> problem = files_.size_problem(entry)) {
        defects.push_back({entry.name, *problem});
        return false;
    }
    const std::size_t before = defects.size();
    try {
        storage::DirectFile opened = files_.open(entry);
        read(opened, file, extent, defects);
    } catch (const Error& error) {
        defects.push_back({entry.name, error.what()});
    }
    return defects.size() == before;
}

void FileCheck::tell(std::int64_t bytes) {
    const std::lock_guard lock{report_mutex_};
    done_bytes_ += bytes;
    if (progress_) {
        progress_(done_bytes_, all_bytes_);
    }
}

void FileCheck::read(storage::DirectFile& file,
                     std::size_t index,
                     CheckScope extent,
                     std::vector<Defect>& defects) {
    const FileEntry& entry = manifest_.files[index];
    const std::vector<std::size_t>& pieces = pieces_of_[index];
    Cut cut;
    std::int64_t at = 0;
    for (const std::size_t piece : pieces) {
        const StoredPiece& stored = manifest_.pieces[piece];
        const std::int64_t end = stored.offset_bytes + stored.piece.bytes();
        add(cut, at, stored.offset_bytes, no_piece);
        if (extent == CheckScope::all) {
            add(cut, stored.offset_bytes, end, piece);
        }
        at = end;
    }
    add(cut, at, entry.bytes, no_piece);

    StreamHash rest;
    Tables tables{manifest_, pieces};
    std::vector<std::uint64_t> hashes(cut.ranges.size());  // of the blocks of pieces
    const auto take_rest = [&](std::size_t k, std::span<const std::byte> bytes) {
        rest.add(bytes);
        tables.keep(cut.ranges[k].offset_bytes, bytes);
    };
    // Reads the ranges [first, last). Bytes outside of pieces go to `take`.
    const auto read_part = [&](storage::DirectFile& from, RangeReader& reader, std::size_t first,
                               std::size_t last, const auto& take) {
        const auto ranges = std::span{cut.ranges}.subspan(first, last - first);
        return reader.read(from, ranges, [&](std::size_t k, std::span<const std::byte> bytes) {
            if (cut.blocks[first + k].first == no_piece) {
                take(first + k, bytes);
            } else {
                hashes[first + k] = XXH3_64bits(bytes.data(), bytes.size());
            }
            tell(std::ssize(bytes));
        });
    };
    const auto all = cut.ranges.size();
    if (extent == CheckScope::all && !pieces.empty() && all >= ranges_of_two_threads) {
        // One queue on one core is slower than a fast disk.
        const auto half = all / 2;
        if (second_reader_ == nullptr) {
            second_reader_ = std::make_unique<RangeReader>(largest_range(manifest_));
        }
        auto again = files_.open(entry);
        std::vector<std::pair<std::size_t, std::vector<std::byte>>> later;  // hashed afterwards, in order
        auto second = std::async(std::launch::async, [&] {
            return read_part(again, *second_reader_, half, all,
                             [&](std::size_t k, std::span<const std::byte> bytes) {
                                 later.emplace_back(k, std::vector<std::byte>{bytes.begin(), bytes.end()});
                             });
        });
        bytes_read_ += read_part(file, reader_, 0, half, take_rest);
        bytes_read_ += second.get();
        for (const auto& [k, bytes] : later) {
            take_rest(k, bytes);
        }
    } else {
        bytes_read_ += read_part(file, reader_, 0, all, take_rest);
    }
    if (rest.value() != entry.hash_of_rest) {
        defects.push_back({entry.name, pieces.empty()
                                           ? "its bytes are not those that were written"
                                           : "its bytes outside of tensors (HDF5's own, padding, hashes) are "
                                             "not those that were written"});
    }
    for (std::size_t k = 0; k < hashes.size(); ++k) {
        const auto& block = cut.blocks[k];
        if (block.first == no_piece) {
            continue;
        }
        const StoredPiece& stored = manifest_.pieces[block.first];
        if (!tables.is_right(block.first)) {
            if (block.second == 0) {
                defects.push_back(
                    {entry.name,
                     fmt::format("the hashes of '{}' of '{}' at offset {} are not those that were written",
                                 to_string(stored.piece.kind), stored.piece.tensor,
                                 stored.table_offset_bytes)});
            }
        } else if (hashes[k] != tables.hash(block.first, block.second)) {
            defects.push_back({entry.name, describe_block(stored, block.second)});
        }
    }
}

}  // namespace ziggurat::checkpoint
