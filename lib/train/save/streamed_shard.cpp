#include "train/save/streamed_shard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "checkpoint/shard/shard_writer.hpp"

namespace ziggurat::train {
namespace {

/// Size of the buffer for state that is read from its home.
constexpr std::int64_t window_bytes = std::int64_t{1} << 20;

std::vector<checkpoint::Piece> pieces_of(std::span<const checkpoint::PieceSource> sources) {
    std::vector<checkpoint::Piece> pieces;
    for (const auto& source : sources) {
        pieces.push_back(source.piece);
    }
    return pieces;
}

/// Leaves the stream at the end of a scope.
class ScopedStream {
  public:
    explicit ScopedStream(SaveStream& stream) : stream_{stream} {}
    ~ScopedStream() { stream_.close(); }
    ScopedStream(const ScopedStream&) = delete;
    ScopedStream& operator=(const ScopedStream&) = delete;

  private:
    SaveStream& stream_;
};

class StreamedShard {
  public:
    StreamedShard(const std::string& folder,
                  int writer,
                  std::span<const checkpoint::PieceSource> sources,
                  std::span<const HomePosition> placements,
                  SaveStream& stream,
                  const std::atomic<bool>& cancel_requested)
        : sources_{sources},
          places_{placements},
          stream_{stream},
          cancel_requested_{cancel_requested},
          output_{folder, writer, pieces_of(sources)} {
        for (std::size_t k = 0; k < sources.size(); ++k) {
            if (sources[k].bytes == nullptr) {
                at_home_[placements[k].buffer].push_back(k);
            }
        }
    }

    checkpoint::ShardSummary write() {
        for (std::size_t k = 0; k < sources_.size(); ++k) {
            if (sources_[k].bytes != nullptr) {
                write_from_memory(k);
            }
        }
        while (let_pass(true)) {}
        for (const auto& [buffer, pieces] : at_home_) {
            for (const auto k : pieces) {
                write_from_home(k);
            }
        }
        return output_.finish();
    }

  private:
    /// Writes the ranges that the stream has now; returns true if more may follow.
    bool let_pass(bool waits) {
        while (true) {
            if (cancel_requested_.load()) {
                throw Error{ErrorKind::resource,
                            fmt::format("writing '{}' was cancelled (the save was stopped). Save again.",
                                        output_.path())};
            }
            const auto next = stream_.next(waits);
            if (next != SaveStream::Next::parts) {
                return next == SaveStream::Next::later;
            }
            stream_.take([this](const SaveStream::Part& part) { append(part); });
        }
    }

    /// Appends a range of a buffer to the pieces that it overlaps.
    ///
    /// A range that does not follow the appended bytes is held in memory until the bytes before it are there.
    void append(const SaveStream::Part& part) {
        const auto pieces = at_home_.find(part.home);
        if (pieces == at_home_.end()) {
            return;  // this rank saves no piece of this buffer
        }
        const auto end_of = [this](std::size_t k) {
            return places_[k].offset_bytes + sources_[k].piece.bytes();
        };
        const auto part_end = part.offset_bytes + std::ssize(part.bytes);
        auto k = std::ranges::partition_point(pieces->second,
                                              [&](std::size_t p) { return end_of(p) <= part.offset_bytes; });
        for (; k != pieces->second.end() && places_[*k].offset_bytes < part_end; ++k) {
            const auto begin = std::max(part.offset_bytes, places_[*k].offset_bytes);
            const auto end = std::min(part_end, end_of(*k));
            const auto bytes = part.bytes.subspan(begin - part.offset_bytes, end - begin);
            const auto offset = begin - places_[*k].offset_bytes;
            ZG_ENSURES(offset >= output_.bytes_appended(*k));
            if (offset > output_.bytes_appended(*k)) {
                held_[*k].try_emplace(offset, bytes.begin(), bytes.end());
                continue;
            }
            output_.append(*k, bytes, output_.main_output());
            append_held(*k);
        }
    }

    /// Appends the held ranges of a piece that follow its appended bytes.
    void append_held(std::size_t k) {
        auto& ranges = held_[k];
        while (!ranges.empty() && ranges.begin()->first == output_.bytes_appended(k)) {
            output_.append(k, ranges.begin()->second, output_.main_output());
            ranges.erase(ranges.begin());
        }
    }

    /// Returns the end of the bytes of a piece that are read from its home next.
    std::int64_t end_of_gap(std::size_t k) {
        const auto& ranges = held_[k];
        return ranges.empty() ? sources_[k].piece.bytes() : ranges.begin()->first;
    }

    void write_from_memory(std::size_t k) {
        const auto& [piece, bytes, read] = sources_[k];
        for (std::int64_t done = 0; done < piece.bytes(); done += checkpoint::hash_block_bytes) {
            let_pass(false);
            const auto size = std::min(checkpoint::hash_block_bytes, piece.bytes() - done);
            output_.write_block(k, {bytes + done, static_cast<std::size_t>(size)}, output_.main_output());
        }
    }

    void write_from_home(std::size_t k) {
        const auto& source = sources_[k];
        std::vector<std::byte> window;
        while (output_.bytes_appended(k) < source.piece.bytes()) {
            let_pass(false);
            const auto done = output_.bytes_appended(k);
            window.resize(std::min(window_bytes, end_of_gap(k) - done));
            source.read(done, window);
            output_.append(k, window, output_.main_output());
            append_held(k);
        }
    }

    std::span<const checkpoint::PieceSource> sources_;
    std::span<const HomePosition> places_;
    SaveStream& stream_;
    const std::atomic<bool>& cancel_requested_;
    std::map<int, std::vector<std::size_t>> at_home_;  ///< by buffer, ascending: pieces not in memory
    std::map<std::size_t, std::map<std::int64_t, std::vector<std::byte>>> held_;  ///< by piece and offset
    checkpoint::ShardWriter output_;
};

}  // namespace

checkpoint::ShardSummary write_streamed_shard(const std::string& folder,
                                              int writer,
                                              std::span<const checkpoint::PieceSource> sources,
                                              std::span<const HomePosition> placements,
                                              SaveStream& stream,
                                              const std::atomic<bool>& cancel_requested) {
    const ScopedStream scope{stream};
    StreamedShard shard{folder, writer, sources, placements, stream, cancel_requested};
    return shard.write();
}

}  // namespace ziggurat::train
