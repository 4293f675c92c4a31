#include "device/cuda/unpinned_cuda.hpp"

#include <algorithm>
#include <cstring>

#include "device/cuda/error_cuda.hpp"
#include "device/cuda/pin_cuda.hpp"

namespace ziggurat::device::cuda {
namespace {

/// Large enough that the start of a copy costs little in comparison.
constexpr std::int64_t piece_bytes = std::int64_t{4} << 20;

/// Calls `copy` with the half of the buffer, the offset and the size of each piece.
template <class Halves, class Copy>
void in_pieces(const Halves& halves, std::int64_t bytes, const Copy& copy) {
    std::size_t half = 0;
    for (std::int64_t offset = 0; offset < bytes; offset += piece_bytes) {
        copy(halves[half], offset, std::min(piece_bytes, bytes - offset));
        half = 1 - half;
    }
}

void record(cudaEvent_t event, cudaStream_t stream) {
    check(cudaEventRecord(event, stream), "record an event");
}

void wait(cudaStream_t stream, cudaEvent_t event) {
    check(cudaStreamWaitEvent(stream, event, 0), "order two streams");
}

void copy_async(std::byte* to, const std::byte* from, std::size_t bytes, cudaStream_t stream) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "copy from or to a GPU's memory");
}

}  // namespace

void UnpinnedRanges::add(const std::byte* begin, std::int64_t bytes) {
    const std::lock_guard lock{mutex_};
    ranges_.push_back({begin, bytes});
    is_empty_ = false;
}

void UnpinnedRanges::remove(const std::byte* begin) {
    const std::lock_guard lock{mutex_};
    std::erase_if(ranges_, [begin](const Range& range) { return range.begin == begin; });
    is_empty_ = ranges_.empty();
}

bool UnpinnedRanges::touches(const std::byte* begin, std::int64_t bytes) const {
    if (is_empty_) {
        return false;
    }
    const std::lock_guard lock{mutex_};
    return std::ranges::any_of(ranges_, [&](const Range& range) {
        return begin < range.begin + range.bytes && range.begin < begin + bytes;
    });
}

UnpinnedCopies::UnpinnedCopies() : between_{2 * piece_bytes, "copies of memory that is not pinned"} {
    pin(between_.host_view(), between_.bytes());
    check(cudaStreamCreateWithFlags(&moving_, cudaStreamNonBlocking), "create a stream");
    std::int64_t offset = 0;
    for (auto& half : halves_) {
        half.data = between_.host_view() + offset;
        offset += piece_bytes;
        for (auto* event : {&half.is_filled, &half.is_emptied}) {
            check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "create an event");
        }
    }
}

UnpinnedCopies::~UnpinnedCopies() {
    for (const auto& half : halves_) {
        cudaEventDestroy(half.is_filled);
        cudaEventDestroy(half.is_emptied);
    }
    cudaStreamDestroy(moving_);
    cudaHostUnregister(between_.host_view());
}

void UnpinnedCopies::into_gpu(cudaStream_t stream, std::byte* to, const std::byte* from, std::int64_t bytes) {
    for (const auto& half : halves_) {
        record(half.is_emptied, stream);  // by earlier work of the stream, which may also write `from`
    }
    in_pieces(halves_, bytes, [&](const Half& half, std::int64_t offset, std::size_t piece) {
        wait(moving_, half.is_emptied);
        move(half.data, from + offset, piece);
        record(half.is_filled, moving_);
        wait(stream, half.is_filled);
        copy_async(to + offset, half.data, piece, stream);
        record(half.is_emptied, stream);
    });
}

void UnpinnedCopies::from_gpu(cudaStream_t stream, std::byte* to, const std::byte* from, std::int64_t bytes) {
    in_pieces(halves_, bytes, [&](const Half& half, std::int64_t offset, std::size_t piece) {
        wait(stream, half.is_emptied);
        copy_async(half.data, from + offset, piece, stream);
        record(half.is_filled, stream);
        wait(moving_, half.is_filled);
        move(to + offset, half.data, piece);
        record(half.is_emptied, moving_);
    });
    for (const auto& half : halves_) {
        wait(stream, half.is_emptied);
    }
}

void UnpinnedCopies::move(std::byte* to, const std::byte* from, std::size_t bytes) {
    const auto is_free = [](const Move& move) { return move.is_done.load(std::memory_order_acquire); };
    auto free = std::ranges::find_if(moves_, is_free);
    if (free == moves_.end()) {
        free = moves_.emplace(moves_.end());
    }
    free->to = to;
    free->from = from;
    free->bytes = bytes;
    free->is_done.store(false, std::memory_order_relaxed);
    check(cudaLaunchHostFunc(moving_, carry_out, &*free), "copy memory of the host that is not pinned");
}

void UnpinnedCopies::carry_out(void* move) {
    auto& made = *static_cast<Move*>(move);
    std::memcpy(made.to, made.from, made.bytes);
    made.is_done.store(true, std::memory_order_release);
}

}  // namespace ziggurat::device::cuda
