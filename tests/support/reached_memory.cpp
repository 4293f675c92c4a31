#include "tests/support/reached_memory.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>

#include "device/arena.hpp"
#include "device/cuda.hpp"
#include "tests/support/device/test_stream.hpp"

namespace ziggurat::test {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t smallest = 64;
constexpr std::size_t stack_bytes = std::size_t{64} << 20;
constexpr std::size_t all_bytes = std::size_t{1} << 30;
constexpr std::size_t num_pages = all_bytes / page;
constexpr std::size_t num_sizes = 31;  // powers of two

/// Pieces whose sizes are powers of two, taken from front to back, and reused by size when freed.
///
/// A page holds pieces of one size, or is part of one piece.
class Pool {
  public:
    Pool() {
        void* const found = ::mmap(nullptr, all_bytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (found == MAP_FAILED) {
            std::perror("memory for tests on GPUs");
            std::_Exit(3);
        }
        first_ = static_cast<std::byte*>(found);
    }

    std::byte* first() const noexcept { return first_; }
    bool has(const void* memory) const noexcept {
        const auto* at = static_cast<const std::byte*>(memory);
        return at >= first_ && at < first_ + all_bytes;
    }

    /// Returns nullptr if the pool is exhausted.
    void* take(std::size_t bytes, std::size_t alignment) noexcept {
        const auto piece = std::bit_ceil(std::max({bytes, alignment, smallest}));
        const auto size = static_cast<std::size_t>(std::countr_zero(piece));
        const std::lock_guard lock{mutex_};
        if (size >= num_sizes) {
            return nullptr;
        }
        if (free_[size] == nullptr && !cut(size, piece)) {
            return nullptr;
        }
        auto* const taken = free_[size];
        free_[size] = taken->next;
        return taken;
    }

    void release(void* memory) noexcept {
        const std::lock_guard lock{mutex_};
        const auto size = sizes_[static_cast<std::size_t>(static_cast<std::byte*>(memory) - first_) / page];
        free_[size] = ::new (memory) Free{free_[size]};
    }

  private:
    struct Free {
        Free* next;
    };

    /// Makes new pieces of a size. Pieces of a page or more begin only at multiples of a page.
    bool cut(std::size_t size, std::size_t piece) noexcept {
        const auto bytes = std::max(piece, page);
        if (used_ + bytes > all_bytes) {
            return false;
        }
        auto* const begin = first_ + used_;
        sizes_[used_ / page] = static_cast<std::uint8_t>(size);
        used_ += bytes;
        for (auto* at = begin; at < begin + bytes; at += piece) {
            free_[size] = ::new (at) Free{free_[size]};
        }
        return true;
    }

    std::mutex mutex_;
    std::byte* first_;
    std::size_t used_ = 0;
    std::array<Free*, num_sizes> free_{};
    std::array<std::uint8_t, num_pages> sizes_{};
};

/// Returns the pool; nullptr if no GPU is used. It exists from the first allocation on, and is never
/// freed.
Pool* the_pool() noexcept {
    static Pool* const pool = []() -> Pool* {
        if (!tests_on_cuda()) {
            return nullptr;
        }
        alignas(Pool) static std::byte position[sizeof(Pool)];
        return ::new (position) Pool;
    }();
    return pool;
}

void* take(std::size_t bytes, std::size_t alignment) noexcept {
    if (auto* const pool = the_pool()) {
        if (void* const found = pool->take(bytes, alignment)) {
            return found;
        }
    }
    return std::aligned_alloc(alignment,
                              (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment);
}

void* take_or_throw(std::size_t bytes, std::size_t alignment) {
    if (void* const found = take(bytes, alignment)) {
        return found;
    }
    throw std::bad_alloc{};
}

void release(void* memory) noexcept {
    auto* const pool = the_pool();
    if (pool != nullptr && pool->has(memory)) {
        pool->release(memory);
    } else {
        std::free(memory);
    }
}

struct Call {
    const std::function<int()>* work;
    int result = 0;
};

void* run(void* argument) {
    auto& call = *static_cast<Call*>(argument);
    call.result = (*call.work)();
    return nullptr;
}

}  // namespace

int run_in_reached_memory(const std::function<int()>& work) {
    Pool* const pool = the_pool();
    if (pool == nullptr) {
        return work();
    }
    const auto owner = std::shared_ptr<void>{pool, [](void* /*pool*/) {}};  // the pool is never freed
    const device::Arena all{device::Arena::OfDevice{.data = pool->first(),
                                                    .host_view = pool->first(),
                                                    .bytes = all_bytes,
                                                    .staging = nullptr,
                                                    .descriptor = -1,
                                                    .owner = owner}};
    const auto gpu = device::cuda::make_device(0, nullptr);
    const auto pinned = gpu->pin(all);
    void* const stack = pool->take(stack_bytes, page);
    Call call{&work};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, stack_bytes);
    pthread_t thread;
    if (stack == nullptr || pthread_create(&thread, &attributes, run, &call) != 0) {
        std::fputs("no thread for tests on GPUs\n", stderr);
        return 3;
    }
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    return call.result;
}

}  // namespace ziggurat::test

void* operator new(std::size_t bytes) {
    return ziggurat::test::take_or_throw(bytes, 16);
}

void* operator new[](std::size_t bytes) {
    return ziggurat::test::take_or_throw(bytes, 16);
}

void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return ziggurat::test::take_or_throw(bytes, static_cast<std::size_t>(alignment));
}

void* operator new[](std::size_t bytes, std::align_val_t alignment) {
    return ziggurat::test::take_or_throw(bytes, static_cast<std::size_t>(alignment));
}

void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
    return ziggurat::test::take(bytes, 16);
}

void* operator new[](std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
    return ziggurat::test::take(bytes, 16);
}

void operator delete(void* memory) noexcept {
    ziggurat::test::release(memory);
}

void operator delete[](void* memory) noexcept {
    ziggurat::test::release(memory);
}

void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
    ziggurat::test::release(memory);
}

void operator delete[](void* memory, std::size_t /*bytes*/) noexcept {
    ziggurat::test::release(memory);
}

void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
    ziggurat::test::release(memory);
}

void operator delete[](void* memory, std::align_val_t /*alignment*/) noexcept {
    ziggurat::test::release(memory);
}

void operator delete(void* memory, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
    ziggurat::test::release(memory);
}

void operator delete[](void* memory, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
    ziggurat::test::release(memory);
}
