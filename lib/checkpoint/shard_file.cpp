#include "checkpoint/shard_file.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <future>

#include "base/clock.hpp"
#include "base/contract.hpp"
#include "base/error.hpp"
#include "checkpoint/shard_layout.hpp"
#include "checkpoint/shard_output.hpp"
#include "storage/hdf5_types.hpp"
#include "storage/io_error.hpp"

namespace ziggurat::checkpoint {
namespace {

/// With fewer bytes, a second thread is not worth its start.
constexpr std::int64_t bytes_of_two_threads = std::int64_t{64} << 20;

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

/// Writes the bytes of all pieces; returns the hashes of the blocks of each.
std::vector<std::vector<std::uint64_t>> write_pieces(std::span<const Source> sources,
                                                     const ShardLayout& layout,
                                                     std::int64_t bytes,
                                                     ShardOutput& output,
                                                     const std::atomic<bool>* give_up) {
    std::vector<std::vector<std::uint64_t>> hashes(sources.size());
    const auto write_part = [&](ShardOutput& to, std::size_t first, std::size_t last) {
        for (std::size_t k = first; k < last; ++k) {
            hashes[k] = write_piece(sources[k], layout.pieces[k].offset_bytes, to, give_up);
        }
    };
    std::size_t half = 0;  // the pieces before it hold half of the bytes
    for (std::int64_t before = 0; half < sources.size() && before < bytes / 2; ++half) {
        before += sources[half].piece.bytes();
    }
    if (bytes < bytes_of_two_threads || half == sources.size()) {
        write_part(output, 0, sources.size());
        return hashes;
    }
    // Hashing and copying on one core alone is slower than a fast disk.
    const auto beside = output.beside();
    auto second = std::async(std::launch::async, [&] { write_part(*beside, half, sources.size()); });
    write_part(output, 0, half);
    second.get();
    output.join(*beside);
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
        const std::vector<std::vector<std::uint64_t>> hashes =
            write_pieces(sources, layout, bytes, output, give_up);
        for (std::size_t k = 0; k < sources.size(); ++k) {
            const PlacedPiece& place = layout.pieces[k];
            const auto table = std::as_bytes(std::span{hashes[k]});
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
