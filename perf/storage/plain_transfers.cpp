#include "perf/storage/plain_transfers.hpp"

#include "base/clock.hpp"
#include "storage/aio_queue.hpp"

namespace ziggurat::perf {
namespace {

constexpr std::size_t block = std::size_t{4} << 20;

/// Calls `start(offset)` for each block of `bytes`, `depth` of them at a time.
template <class Start>
void run(storage::AioQueue& queue, std::size_t bytes, Start start) {
    for (std::size_t offset = 0; offset + block <= bytes; offset += block) {
        if (queue.is_full()) {
            queue.wait();
        }
        start(offset);
    }
    while (!queue.is_idle()) {
        queue.wait();
    }
}

}  // namespace

double plain_write_seconds(const std::string& path, std::span<const std::byte> from, int depth) {
    const std::int64_t begin_ns = monotonic_ns();
    {
        storage::DirectFile file = storage::DirectFile::create(path);
        file.reserve(static_cast<std::int64_t>(from.size() / block * block));
        storage::AioQueue queue{depth};
        run(queue, from.size(), [&](std::size_t offset) {
            queue.write(file, static_cast<std::int64_t>(offset), from.subspan(offset, block), 0);
        });
        file.flush();
    }
    return seconds_between(begin_ns, monotonic_ns());
}

double plain_read_seconds(const std::string& path, std::span<std::byte> into, int depth) {
    const std::int64_t begin_ns = monotonic_ns();
    {
        storage::DirectFile file = storage::DirectFile::open(path);
        storage::AioQueue queue{depth};
        run(queue, into.size(), [&](std::size_t offset) {
            queue.read(file, static_cast<std::int64_t>(offset), into.subspan(offset, block),
                       static_cast<std::int64_t>(block), 0);
        });
    }
    return seconds_between(begin_ns, monotonic_ns());
}

}  // namespace ziggurat::perf
