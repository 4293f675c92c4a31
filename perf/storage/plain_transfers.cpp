#include "perf/storage/plain_transfers.hpp"

#include <vector>

#include "base/clock.hpp"
#include "storage/aio_queue.hpp"

namespace ziggurat::perf {
namespace {

constexpr std::int64_t block = std::int64_t{4} << 20;

/// Calls `start(offset, memory of a transfer, its index)` for each block, `depth` at a time.
template <class Start>
void run(storage::AioQueue& queue,
         const storage::AlignedBuffer& memory,
         std::int64_t bytes,
         int depth,
         Start start) {
    std::vector<std::uint64_t> free;
    for (int k = 0; k < depth; ++k) {
        free.push_back(static_cast<std::uint64_t>(k));
    }
    for (std::int64_t offset = 0; offset < bytes; offset += block) {
        if (free.empty()) {
            free.push_back(queue.wait());
        }
        const std::uint64_t index = free.back();
        free.pop_back();
        start(offset, memory.bytes().subspan(index * static_cast<std::size_t>(block), block), index);
    }
    while (!queue.is_idle()) {
        queue.wait();
    }
}

storage::AlignedBuffer filled(int depth) {
    storage::AlignedBuffer memory{block * depth};
    std::uint32_t state = 1;
    for (std::byte& each : memory.bytes()) {
        state = state * 1664525 + 1013904223;
        each = static_cast<std::byte>(state >> 24);
    }
    return memory;
}

}  // namespace

double plain_write_seconds(const std::string& path, std::int64_t bytes, int depth) {
    const storage::AlignedBuffer memory = filled(depth);
    const std::int64_t begin_ns = monotonic_ns();
    {
        storage::DirectFile file = storage::DirectFile::create(path);
        file.reserve(bytes);
        storage::AioQueue queue{depth};
        run(queue, memory, bytes, depth,
            [&](std::int64_t offset, std::span<std::byte> from, std::uint64_t tag) {
                queue.write(file, offset, from, tag);
            });
        file.flush();
    }
    return seconds_between(begin_ns, monotonic_ns());
}

double plain_read_seconds(const std::string& path, std::int64_t bytes, int depth) {
    const storage::AlignedBuffer memory = filled(depth);
    const std::int64_t begin_ns = monotonic_ns();
    {
        storage::DirectFile file = storage::DirectFile::open(path);
        storage::AioQueue queue{depth};
        run(queue, memory, bytes, depth,
            [&](std::int64_t offset, std::span<std::byte> into, std::uint64_t tag) {
                queue.read(file, offset, into, block, tag);
            });
    }
    return seconds_between(begin_ns, monotonic_ns());
}

}  // namespace ziggurat::perf
