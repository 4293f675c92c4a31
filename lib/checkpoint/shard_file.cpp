#include "checkpoint/shard_file.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "base/contract.hpp"
#include "base/error.hpp"
#include "checkpoint/shard_layout.hpp"
#include "checkpoint/shard_output.hpp"
#include "storage/hdf5_types.hpp"
#include "storage/io_error.hpp"

namespace ziggurat::checkpoint {
namespace {

std::vector<Piece> pieces_of(std::span<const Source> sources) {
    std::vector<Piece> pieces;
    pieces.reserve(sources.size());
    for (const Source& source : sources) {
        ZG_EXPECTS(!source.piece.box.is_empty());
        pieces.push_back(source.piece);
    }
    return pieces;
}

void look_at(const std::atomic<bool>* give_up, const std::string& path) {
    if (give_up != nullptr && give_up->load()) {
        throw Error{ErrorKind::resource,
                    fmt::format("writing '{}' was given up (it was asked to end). Save again.", path)};
    }
}

/// Writes the bytes of one piece; returns the hashes of its blocks.
std::vector<std::uint64_t> write_piece(const Source& source,
                                       std::int64_t offset_bytes,
                                       ShardOutput& output,
                                       const std::atomic<bool>* give_up) {
    std::vector<std::uint64_t> hashes;
    const std::int64_t bytes = source.piece.bytes();
    hashes.reserve(static_cast<std::size_t>(table_bytes(source.piece)) / sizeof(std::uint64_t));
    for (std::int64_t done = 0; done < bytes; done += hash_block_bytes) {
        look_at(give_up, output.path());
        const std::span block{source.bytes + done,
                              static_cast<std::size_t>(std::min(hash_block_bytes, bytes - done))};
        hashes.push_back(output.write_block(offset_bytes + done, block));
    }
    return hashes;
}

}  // namespace

std::string shard_name(int writer) {
    return fmt::format("shard-{:05d}.h5", writer);
}

std::int64_t shard_bytes(std::span<const Source> sources) {
    storage::start_hdf5();
    return lay_out(pieces_of(sources)).image.size_bytes();
}

ShardSummary write_shard(const std::string& folder,
                         int writer,
                         std::span<const Source> sources,
                         const std::atomic<bool>* give_up) {
    const std::int64_t start_ns = monotonic_ns();
    const std::vector<Piece> pieces = pieces_of(sources);
    ShardLayout layout = lay_out(pieces);
    const std::int64_t bytes = layout.image.size_bytes();
    std::vector<FileRun> runs;
    for (std::size_t k = 0; k < sources.size(); ++k) {
        runs.push_back(
            {layout.pieces[k].offset_bytes, {sources[k].bytes, static_cast<std::size_t>(pieces[k].bytes())}});
    }

    ShardSummary summary;
    summary.entry = {shard_name(writer), bytes, 0};
    const std::string path = folder + "/" + summary.entry.name;
    try {
        ShardOutput output{path, bytes};
        for (std::size_t k = 0; k < sources.size(); ++k) {
            const PlacedPiece& place = layout.pieces[k];
            const std::vector<std::uint64_t> hashes =
                write_piece(sources[k], place.offset_bytes, output, give_up);
            const auto table = std::as_bytes(std::span{hashes});
            layout.image.write(place.table_offset_bytes, table);
            summary.pieces.push_back({pieces[k], 0, place.offset_bytes, place.table_offset_bytes,
                                      XXH3_64bits(table.data(), table.size())});
        }
        summary.entry.hash_of_rest = hash_of_image(layout.image, runs);
        output.write_other_pages(layout.image, runs);
        output.finish();
    } catch (...) {
        ::unlink(path.c_str());
        throw;
    }
    summary.bytes_written = bytes;
    summary.seconds = seconds_between(start_ns, monotonic_ns());
    return summary;
}

void set_write_fault(WriteFault fault) noexcept {
    storage::set_write_fault(fault);
}

}  // namespace ziggurat::checkpoint
