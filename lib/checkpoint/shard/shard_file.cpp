#include "checkpoint/shard/shard_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "checkpoint/shard/shard_layout.hpp"
#include "checkpoint/shard/shard_output.hpp"
#include "checkpoint/shard/shard_writer.hpp"
#include "storage/io_error.hpp"

namespace ziggurat::checkpoint {
namespace {

/// Bytes read at a time from a piece that is not in memory.
constexpr std::int64_t window_bytes = std::int64_t{1} << 20;

std::vector<Piece> pieces_of(std::span<const PieceSource> sources) {
    std::vector<Piece> pieces;
    pieces.reserve(sources.size());
    for (const PieceSource& source : sources) {
        ZG_EXPECTS(!source.piece.box.is_empty());
        pieces.push_back(source.piece);
    }
    return pieces;
}

void check_cancelled(const std::atomic<bool>* request_cancel, const std::string& path) {
    if (request_cancel != nullptr && request_cancel->load()) {
        throw Error{ErrorKind::resource,
                    fmt::format("writing '{}' was aborted on request. Save again.", path)};
    }
}

/// Writes the bytes of one piece.
void write_piece(const PieceSource& source,
                 std::size_t k,
                 ShardWriter& writer,
                 ShardOutput& fd_path,
                 const std::atomic<bool>* request_cancel) {
    const std::int64_t bytes = source.piece.bytes();
    std::vector<std::byte> window(
        source.bytes != nullptr ? 0 : static_cast<std::size_t>(std::min(window_bytes, bytes)));
    const std::int64_t step = source.bytes != nullptr ? hash_block_bytes : window_bytes;
    for (std::int64_t done = 0; done < bytes; done += step) {
        check_cancelled(request_cancel, writer.path());
        const std::size_t size = std::min(step, bytes - done);
        if (source.bytes != nullptr) {
            writer.write_block(k, {source.bytes + done, size}, fd_path);
        } else {
            const auto part = std::span{window}.first(size);
            source.read(done, part);
            writer.append(k, part, fd_path);
        }
    }
}

void write_pieces(std::span<const PieceSource> sources,
                  ShardWriter& writer,
                  const std::atomic<bool>* request_cancel) {
    const auto write_part = [&](ShardOutput& fd_path, std::size_t first, std::size_t last) {
        for (std::size_t k = first; k < last; ++k) {
            write_piece(sources[k], k, writer, fd_path, request_cancel);
        }
    };
    const std::int64_t bytes = writer.bytes();
    std::size_t half = 0;  // the pieces before it hold half of the bytes
    for (std::int64_t before = 0; half < sources.size() && before < bytes / 2; ++half) {
        before += sources[half].piece.bytes();
    }
    if (bytes < layout::two_writers_bytes || half == sources.size()) {
        write_part(writer.main_output(), 0, sources.size());
        return;
    }
    // Hashing and copying on one core is slower than a fast disk.
    const auto companion = writer.companion();
    auto second = std::async(std::launch::async, [&] { write_part(*companion, half, sources.size()); });
    write_part(writer.main_output(), 0, half);
    second.get();
    writer.join(*companion);
}

}  // namespace

std::string shard_name(int writer) {
    return fmt::format("shard-{:05d}.h5", writer);
}

std::int64_t shard_bytes(std::span<const PieceSource> sources) {
    storage::start_hdf5();
    return lay_out(pieces_of(sources)).image.size_bytes();
}

ShardSummary write_shard(const std::string& folder,
                         int writer,
                         std::span<const PieceSource> sources,
                         const std::atomic<bool>* request_cancel) {
    ShardWriter output{folder, writer, pieces_of(sources)};
    write_pieces(sources, output, request_cancel);
    return output.finish();
}

void set_write_fault(WriteFault fault) noexcept {
    storage::set_write_fault(fault);
}

}  // namespace ziggurat::checkpoint
