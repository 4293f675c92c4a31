#include "device/cuda/unpinned_cuda.hpp"

#include <algorithm>
#include <cstring>

#include "device/cuda/error_cuda.hpp"
#include "device/cuda/pin_cuda.hpp"

namespace ziggurat::device::cuda {
namespace {

/// Large enough that the start of a copy costs little in comparison.
constexpr std::int64_t piece_bytes = std::int64_t{4} << 20;

/// Calls `copy` with offset and size of each piece.
template <class Copy>
void in_pieces(std::int64_t bytes, const Copy& copy) {
    for (std::int64_t offset = 0; offset < bytes; offset += piece_bytes) {
        copy(offset, std::min(piece_bytes, bytes - offset));
    }
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

UnpinnedCopies::UnpinnedCopies() : between_{piece_bytes, "copies of memory that is not pinned"} {
    pin(between_.host_view(), between_.bytes());
}

UnpinnedCopies::~UnpinnedCopies() {
    cudaHostUnregister(between_.host_view());
}

void UnpinnedCopies::into_gpu(cudaStream_t stream, std::byte* to, const std::byte* from, std::int64_t bytes) {
    in_pieces(bytes, [&](std::int64_t offset, std::size_t piece) {
        move(stream, between_.host_view(), from + offset, piece);
        copy_async(to + offset, between_.host_view(), piece, stream);
    });
}

void UnpinnedCopies::from_gpu(cudaStream_t stream, std::byte* to, const std::byte* from, std::int64_t bytes) {
    in_pieces(bytes, [&](std::int64_t offset, std::size_t piece) {
        copy_async(between_.host_view(), from + offset, piece, stream);
        move(stream, to + offset, between_.host_view(), piece);
    });
}

void UnpinnedCopies::move(cudaStream_t stream, std::byte* to, const std::byte* from, std::size_t bytes) {
    const auto is_free = [](const Move& move) { return move.is_done.load(std::memory_order_acquire); };
    auto free = std::ranges::find_if(moves_, is_free);
    if (free == moves_.end()) {
        free = moves_.emplace(moves_.end());
    }
    free->to = to;
    free->from = from;
    free->bytes = bytes;
    free->is_done.store(false, std::memory_order_relaxed);
    check(cudaLaunchHostFunc(stream, carry_out, &*free), "copy memory of the host that is not pinned");
}

void UnpinnedCopies::carry_out(void* move) {
    auto& made = *static_cast<Move*>(move);
    std::memcpy(made.to, made.from, made.bytes);
    made.is_done.store(true, std::memory_order_release);
}

}  // namespace ziggurat::device::cuda
