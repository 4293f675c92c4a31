#include "checkpoint/shard/range_reader.hpp"

#include <algorithm>

#include "layout/staging/staging_sizes.hpp"

namespace ziggurat::checkpoint {
namespace {

// Reading it is cheaper than a new transfer.
constexpr std::int64_t largest_gap_bytes = std::int64_t{32} << 10;

/// Ranges [first, last) read in whole pages of the file.
struct Transfer {
    std::size_t first = 0;
    std::size_t last = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t needed_bytes = 0;
};

std::vector<Transfer> join(std::span<const FileRange> ranges, std::int64_t max_bytes) {
    std::vector<Transfer> transfers;
    for (std::size_t k = 0; k < ranges.size(); ++k) {
        const std::int64_t begin = round_down_to_page(ranges[k].offset_bytes);
        const std::int64_t range_end = ranges[k].offset_bytes + ranges[k].bytes;
        const std::int64_t end = round_up_to_page(range_end);
        if (transfers.empty() || begin > transfers.back().end + largest_gap_bytes ||
            end - transfers.back().begin > max_bytes) {
            transfers.push_back({k, k + 1, begin, end, range_end - begin});
        } else {
            Transfer& last = transfers.back();
            last.last = k + 1;
            last.end = std::max(last.end, end);
            last.needed_bytes = range_end - last.begin;
        }
    }
    return transfers;
}

}  // namespace

RangeReader::RangeReader(std::int64_t max_bytes)
    : buffer_bytes_{layout::reader_buffers(max_bytes).bytes},
      depth_{static_cast<std::size_t>(layout::reader_buffers(max_bytes).count)},
      memory_{buffer_bytes_ * static_cast<std::int64_t>(depth_)},
      queue_{static_cast<int>(depth_)} {}

std::span<std::byte> RangeReader::buffer(std::size_t index) const {
    const std::size_t size = buffer_bytes_;
    return memory_.bytes().subspan(index * size, size);
}

std::int64_t RangeReader::read(storage::DirectFile& file,
                               std::span<const FileRange> ranges,
                               const std::function<void(std::size_t, std::span<const std::byte>)>& use) {
    try {
        return read_all(file, ranges, use);
    } catch (...) {
        queue_.drain();
        throw;
    }
}

std::int64_t RangeReader::read_all(storage::DirectFile& file,
                                   std::span<const FileRange> ranges,
                                   const std::function<void(std::size_t, std::span<const std::byte>)>& use) {
    const std::vector<Transfer> transfers = join(ranges, buffer_bytes_);
    std::vector<bool> has_arrived(transfers.size());
    std::int64_t bytes_read = 0;
    std::size_t started = 0;
    for (std::size_t oldest = 0; oldest < transfers.size(); ++oldest) {
        for (; started < std::min(transfers.size(), oldest + depth_) && !queue_.is_full(); ++started) {
            const Transfer& transfer = transfers[started];
            const std::span<std::byte> into = buffer(started % depth_).first(transfer.end - transfer.begin);
            queue_.read(file, transfer.begin, into, transfer.needed_bytes, started);
            bytes_read += transfer.needed_bytes;
        }
        while (!has_arrived[oldest]) {
            has_arrived[queue_.wait()] = true;
        }
        const Transfer& transfer = transfers[oldest];
        for (std::size_t k = transfer.first; k < transfer.last; ++k) {
            use(k, buffer(oldest % depth_).subspan(ranges[k].offset_bytes - transfer.begin, ranges[k].bytes));
        }
    }
    return bytes_read;
}

}  // namespace ziggurat::checkpoint
