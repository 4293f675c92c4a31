#include "checkpoint/shard/piece_stream.hpp"

#include <algorithm>
#include <utility>

#include "base/contract.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/shard/shard_file.hpp"
#include "checkpoint/shard/shard_layout.hpp"

namespace ziggurat::checkpoint {

PieceStream::PieceStream(const Piece& piece, std::int64_t offset_bytes)
    : offset_bytes_{offset_bytes}, bytes_{piece.bytes()} {
    ZG_EXPECTS(bytes_ < aligned_from_bytes || offset_bytes % page_bytes == 0);
    hashes_.reserve(static_cast<std::size_t>(table_bytes(piece)) / sizeof(std::uint64_t));
}

void PieceStream::append(std::span<const std::byte> bytes, ShardOutput& output) {
    ZG_EXPECTS(done_ + std::ssize(bytes) <= bytes_);
    const std::int64_t at = offset_bytes_ + done_;
    hash(bytes);
    done_ += std::ssize(bytes);
    if (bytes_ < aligned_from_bytes) {
        output.keep(at, bytes);
        return;
    }
    const std::int64_t begin = at - std::ssize(begun_);
    const std::int64_t last = round_down_to_page(at + std::ssize(bytes));
    if (last > begin) {
        const auto whole = bytes.first(last - at);
        output.write_copied(begin, begun_, whole);
        begun_.clear();
        bytes = bytes.subspan(whole.size());
    }
    begun_.insert(begun_.end(), bytes.begin(), bytes.end());
    if (is_complete()) {
        output.keep(offset_bytes_ + bytes_ - std::ssize(begun_), begun_);
        begun_.clear();
    }
}

void PieceStream::hash(std::span<const std::byte> bytes) {
    for (std::int64_t done = done_; !bytes.empty();) {
        const std::int64_t left = hash_block_bytes - done % hash_block_bytes;
        const auto part = bytes.first(std::min(left, std::ssize(bytes)));
        block_hash_.add(part);
        bytes = bytes.subspan(part.size());
        done += std::ssize(part);
        if (done % hash_block_bytes == 0 || done == bytes_) {
            hashes_.push_back(block_hash_.value());
            block_hash_.restart();
        }
    }
}

std::vector<std::uint64_t> PieceStream::take_hashes() {
    ZG_EXPECTS(is_complete());
    return std::exchange(hashes_, {});
}

}  // namespace ziggurat::checkpoint
