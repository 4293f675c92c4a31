#include "checkpoint/checkpoint_reader.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "checkpoint/checkpoint_files.hpp"
#include "checkpoint/convert.hpp"
#include "checkpoint/read_plan.hpp"
#include "checkpoint/shard/range_reader.hpp"
#include "checkpoint/shard/shard_file.hpp"
#include "checkpoint/verify.hpp"
#include "layout/staging/staging_sizes.hpp"

namespace ziggurat::checkpoint {
namespace {

/// Elements buffered at a time for a target that is not in memory.
constexpr std::int64_t window_elements = std::int64_t{1} << 18;

/// Block hashes by piece.
using Tables = std::map<std::size_t, std::vector<std::uint64_t>>;

[[noreturn]] void refuse(const std::string& file, const std::string& what) {
    throw Error{
        ErrorKind::checkpoint,
        fmt::format("'{}' is corrupt ({}). Resume from another checkpoint; `ziggurat inspect --verify` "
                    "lists all defects.",
                    file, what)};
}

void expect_none(const std::optional<std::string>& problem,
                 const CheckpointFiles& files,
                 const FileEntry& entry) {
    if (problem) {
        refuse(files.path() + "/" + entry.name, *problem);
    }
}

/// Reads and checks the tables of block hashes of the plan's pieces.
Tables read_tables(const Manifest& manifest,
                   const FilePlan& plan,
                   storage::DirectFile& file,
                   RangeReader& reader,
                   std::int64_t& bytes_read) {
    std::vector<std::size_t> pieces = plan.pieces;
    std::sort(pieces.begin(), pieces.end(), [&](std::size_t a, std::size_t b) {
        return manifest.pieces[a].table_offset_bytes < manifest.pieces[b].table_offset_bytes;
    });
    std::vector<FileRange> ranges;
    for (const std::size_t piece : pieces) {
        ranges.push_back(
            {manifest.pieces[piece].table_offset_bytes, table_bytes(manifest.pieces[piece].piece)});
    }
    Tables tables;
    bytes_read += reader.read(file, ranges, [&](std::size_t k, std::span<const std::byte> bytes) {
        const StoredPiece& stored = manifest.pieces[pieces[k]];
        if (XXH3_64bits(bytes.data(), bytes.size()) != stored.hash_of_table) {
            refuse(file.path(),
                   fmt::format("the hashes of '{}' of '{}' at offset {} are not those that were "
                               "written",
                               to_string(stored.piece.kind), stored.piece.tensor, stored.table_offset_bytes));
        }
        std::vector<std::uint64_t>& table = tables[pieces[k]];
        table.resize(bytes.size() / sizeof(std::uint64_t));
        std::memcpy(table.data(), bytes.data(), bytes.size());
    });
    return tables;
}

std::int64_t largest_transfer(const Manifest& manifest, const std::vector<FilePlan>& plans) {
    std::int64_t max = 0;
    for (const FilePlan& plan : plans) {
        for (const WantedBlock& block : plan.blocks) {
            max = std::max(max, block.bytes);
        }
        for (const std::size_t piece : plan.pieces) {
            max = std::max(max, table_bytes(manifest.pieces[piece].piece));
        }
    }
    return max;
}

using Copies = std::vector<BlockCopy>::const_iterator;

/// Returns the first copy that does not directly follow the previous one in the same target.
Copies end_of_run(Copies first, Copies end) {
    auto next = first + 1;
    while (next != end && next->target == first->target &&
           next->offset_in_target == (next - 1)->offset_in_target + (next - 1)->elements) {
        ++next;
    }
    return next;
}

/// Converts contiguous elements of a block and stores them in the target.
void scatter(std::span<const std::byte> block,
             spec::DType stored_type,
             std::span<const BlockCopy> copies,
             const PieceTarget& target) {
    const auto width = element_bytes(target.piece.type);
    auto offset = copies.front().offset_in_target * width;
    if (target.bytes != nullptr) {
        for (const BlockCopy& copy : copies) {
            convert(block.data() + copy.offset_in_block * element_bytes(stored_type), stored_type,
                    target.bytes + offset, target.piece.type, copy.elements);
            offset += copy.elements * width;
        }
        return;
    }
    std::vector<std::byte> window;
    window.reserve(window_elements * width);
    const auto pass_on = [&] {
        target.write(offset, window);
        offset += std::ssize(window);
        window.clear();
    };
    for (const BlockCopy& copy : copies) {
        for (std::int64_t done = 0; done < copy.elements;) {
            const auto held = std::ssize(window) / width;
            const auto some = std::min(copy.elements - done, window_elements - held);
            window.resize(window.size() + (some * width));
            convert(block.data() + (copy.offset_in_block + done) * element_bytes(stored_type), stored_type,
                    window.data() + held * width, target.piece.type, some);
            done += some;
            if (held + some == window_elements) {
                pass_on();
            }
        }
    }
    pass_on();
}

/// Fills the parts of the targets that `blocks` contain, and adds their bytes to `done`.
///
/// Returns the bytes read.
std::int64_t read_blocks(const Manifest& manifest,
                         std::span<const WantedBlock> blocks,
                         const Tables& tables,
                         std::span<const PieceTarget> targets,
                         storage::DirectFile& file,
                         RangeReader& reader,
                         const std::function<void(std::int64_t)>& done) {
    std::vector<FileRange> ranges;
    ranges.reserve(blocks.size());
    for (const WantedBlock& block : blocks) {
        ranges.push_back({block.offset_bytes, block.bytes});
    }
    return reader.read(file, ranges, [&](std::size_t k, std::span<const std::byte> bytes) {
        const WantedBlock& block = blocks[k];
        const StoredPiece& stored = manifest.pieces[block.piece];
        if (XXH3_64bits(bytes.data(), bytes.size()) != tables.at(block.piece)[block.number]) {
            refuse(file.path(), describe_block(stored, block.number));
        }
        for (auto copy = block.copies.begin(); copy != block.copies.end();) {
            const auto last = end_of_run(copy, block.copies.end());
            scatter(bytes, stored.piece.type, {copy, last}, targets[copy->target]);
            copy = last;
        }
        done(std::ssize(bytes));
    });
}

}  // namespace

std::string describe_block(const StoredPiece& stored, std::int64_t number) {
    return fmt::format(
        "block {} of a piece of '{}' of '{}', {} bytes at offset {}, is not what was written", number,
        to_string(stored.piece.kind), stored.piece.tensor,
        format_grouped(std::min(hash_block_bytes, stored.piece.bytes() - number * hash_block_bytes)),
        format_grouped(stored.offset_bytes + number * hash_block_bytes));
}

CheckpointReader::CheckpointReader(std::string path)
    : path_{std::move(path)},
      files_{std::make_unique<CheckpointFiles>(path_)},
      manifest_{files_->read_manifest()} {
    for (const FileEntry& entry : manifest_.files) {
        expect_none(files_->size_problem(entry), *files_, entry);
    }
}

CheckpointReader::CheckpointReader(std::string path, Manifest manifest)
    : path_{std::move(path)},
      files_{std::make_unique<CheckpointFiles>(path_)},
      manifest_{std::move(manifest)} {}

CheckpointReader::~CheckpointReader() = default;
CheckpointReader::CheckpointReader(CheckpointReader&&) noexcept = default;
CheckpointReader& CheckpointReader::operator=(CheckpointReader&&) noexcept = default;

void CheckpointReader::hold() {
    files_->expect(manifest_.files.size());
    for (const FileEntry& entry : manifest_.files) {
        expect_none(files_->hold(entry), *files_, entry);
    }
}

void CheckpointReader::let_go() {
    files_ = std::make_unique<CheckpointFiles>(path_);
}

bool CheckpointReader::is_in_place() const {
    return files_->is_in_place();
}

void CheckpointReader::use_averages() {
    for (const auto& stored : manifest_.pieces) {
        if (stored.piece.kind == PieceKind::average) {
            averaged_.insert(stored.piece.tensor);
        }
    }
    if (averaged_.empty()) {
        throw Error{ErrorKind::deck,
                    fmt::format("'{}' has no average of the weights (train.average was not set). Leave out "
                                "--average.",
                                printable(path_))};
    }
}

void CheckpointReader::read(std::span<const PieceTarget> asked) {
    std::vector<PieceTarget> averages;
    if (!averaged_.empty()) {
        averages.assign(asked.begin(), asked.end());
        for (auto& target : averages) {
            auto& piece = target.piece;
            const bool is_averaged = piece.kind == PieceKind::weights && averaged_.contains(piece.tensor);
            piece.kind = is_averaged ? PieceKind::average : piece.kind;
        }
    }
    const std::span<const PieceTarget> targets = averaged_.empty() ? asked : averages;
    const std::vector<FilePlan> plans = plan_reading(manifest_, targets, path_);
    if (plans.empty()) {
        return;
    }
    const auto reader = [this, max = largest_transfer(manifest_, plans)](std::size_t thread) -> RangeReader& {
        auto& ranges = ranges_[thread];
        if (ranges == nullptr || !ranges->takes(max)) {
            ranges = std::make_unique<RangeReader>(max);
        }
        return *ranges;
    };
    std::int64_t bytes_in_all = 0;
    for (const FilePlan& plan : plans) {
        for (const WantedBlock& block : plan.blocks) {
            bytes_in_all += block.bytes;
        }
    }
    std::atomic<std::int64_t> bytes_done = 0;
    const auto count = [&](std::int64_t bytes) {
        const auto done = bytes_done += bytes;
        if (on_progress_) {
            on_progress_(done, bytes_in_all);
        }
    };
    files_->expect(plans.size());
    for (const FilePlan& plan : plans) {
        const FileEntry& entry = manifest_.files[plan.file];
        expect_none(files_->hold(entry), *files_, entry);
    }
    for (const FilePlan& plan : plans) {
        const FileEntry& entry = manifest_.files[plan.file];
        storage::DirectFile file = files_->open(entry);
        const Tables tables = read_tables(manifest_, plan, file, reader(0), bytes_read_);
        const auto read_part = [&](storage::DirectFile& from, RangeReader& ranges,
                                   std::span<const WantedBlock> some) {
            return read_blocks(manifest_, some, tables, targets, from, ranges, count);
        };
        const std::span<const WantedBlock> blocks{plan.blocks};
        if (std::ssize(blocks) < layout::two_readers_blocks) {
            bytes_read_ += read_part(file, reader(0), blocks);
            continue;
        }
        // Hashing and copying on one core is slower than a fast disk.
        storage::DirectFile again = files_->open(entry);
        auto second = std::async(std::launch::async, [&, &ranges = reader(1)] {
            return read_part(again, ranges, blocks.subspan(blocks.size() / 2));
        });
        bytes_read_ += read_part(file, reader(0), blocks.first(blocks.size() / 2));
        bytes_read_ += second.get();
    }
}

std::vector<Defect> CheckpointReader::verify(
    const std::function<void(std::int64_t, std::int64_t)>& progress) {
    Verification found = verify_checkpoint(path_, progress);
    bytes_read_ += found.bytes_read;
    return std::move(found.defects);
}

}  // namespace ziggurat::checkpoint
