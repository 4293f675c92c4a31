#include "checkpoint/shard/shard_writer.hpp"

#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/contract.hpp"

namespace ziggurat::checkpoint {
namespace {

/// Creates the file; removes it if the disk space cannot be allocated.
ShardOutput create(const std::string& path, std::int64_t bytes) {
    try {
        return {path, bytes};
    } catch (...) {
        ::unlink(path.c_str());
        throw;
    }
}

}  // namespace

ShardWriter::ShardWriter(const std::string& folder, int writer, std::vector<Piece> pieces)
    : start_ns_{monotonic_ns()},
      pieces_{std::move(pieces)},
      layout_{lay_out(pieces_)},
      name_{shard_name(writer)},
      path_{folder + "/" + name_},
      streams_(pieces_.size()),
      hashes_(pieces_.size()),
      output_{create(path_, layout_.image.size_bytes())} {}

ShardWriter::~ShardWriter() {
    if (!is_finished_) {
        ::unlink(path_.c_str());
    }
}

void ShardWriter::append(std::size_t k, std::span<const std::byte> bytes, ShardOutput& fd_path) {
    ZG_EXPECTS(hashes_[k].empty());
    auto& stream = streams_[k];
    if (stream == nullptr) {
        stream = std::make_unique<PieceStream>(pieces_[k], layout_.pieces[k].offset_bytes);
    }
    stream->append(bytes, fd_path);
}

void ShardWriter::write_block(std::size_t k, std::span<const std::byte> block, ShardOutput& fd_path) {
    ZG_EXPECTS(streams_[k] == nullptr);
    const auto before = std::ssize(hashes_[k]) * hash_block_bytes;
    ZG_EXPECTS(std::ssize(block) == std::min(hash_block_bytes, pieces_[k].bytes() - before));
    hashes_[k].push_back(fd_path.write_block(layout_.pieces[k].offset_bytes + before, block));
}

std::int64_t ShardWriter::bytes_appended(std::size_t k) const noexcept {
    return streams_[k] == nullptr ? 0 : streams_[k]->bytes_done();
}

ShardSummary ShardWriter::finish() {
    ShardSummary summary;
    summary.entry = {name_, bytes(), 0};
    std::vector<FileRange> ranges;
    for (std::size_t k = 0; k < pieces_.size(); ++k) {
        const PlacedPiece& place = layout_.pieces[k];
        const auto hashes = streams_[k] != nullptr ? streams_[k]->take_hashes() : std::move(hashes_[k]);
        const auto table = std::as_bytes(std::span{hashes});
        ZG_EXPECTS(std::ssize(table) == table_bytes(pieces_[k]));
        layout_.image.write(place.table_offset_bytes, table);
        summary.pieces.push_back({pieces_[k], 0, place.offset_bytes, place.table_offset_bytes,
                                  XXH3_64bits(table.data(), table.size())});
        ranges.push_back({place.offset_bytes, pieces_[k].bytes()});
    }
    summary.entry.hash_of_rest = hash_of_image(layout_.image, std::move(ranges));
    output_.write_other_pages(layout_.image);
    output_.finish();
    is_finished_ = true;
    summary.bytes_written = bytes();
    summary.seconds = seconds_between(start_ns_, monotonic_ns());
    return summary;
}

}  // namespace ziggurat::checkpoint
