#include "tests/emulated_cuda/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

#include "tests/emulated_cuda/fault.hpp"
#include "tests/emulated_cuda/settings.hpp"

namespace emulated_cuda {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t guard_bytes = 16 * page;
constexpr std::size_t alignment = 256;  // guaranteed by cudaMalloc
constexpr unsigned char between = 0xa5;

std::size_t rounded_up(std::size_t bytes, std::size_t to) {
    return (bytes + to - 1) / to * to;
}

struct Piece {
    int device;
    std::size_t bytes;
    std::byte* mapping;
    std::size_t mapped_bytes;  ///< including guard pages
    std::size_t reported;      ///< index in the table of the signal handler

    std::byte* usable() const { return mapping + guard_bytes; }
    std::size_t usable_bytes() const { return mapped_bytes - 2 * guard_bytes; }
};

std::mutex mutex;
std::map<std::uintptr_t, Piece> pieces;  // by their first byte
std::map<std::uintptr_t, std::size_t> registered;
bool is_closed = settings().mode == Mode::late;

/// Entry of the signal handler's table: a signal handler cannot lock a mutex.
struct Told {
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::size_t> bytes{0};  // 0: free
};
std::array<Told, 4096> reported;

std::uintptr_t number(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address);
}

void protect(const Piece& piece) {
    mprotect(piece.usable(), piece.usable_bytes(), is_closed ? PROT_NONE : PROT_READ | PROT_WRITE);
}

/// Returns the entry of `map` that contains `address`; `bytes_of` returns the size of an entry.
template <class Map, class BytesOf>
auto find(Map& map, std::uintptr_t address, BytesOf bytes_of) {
    auto at = map.upper_bound(address);
    if (at == map.begin()) {
        return map.end();
    }
    --at;
    return address < at->first + bytes_of(at->second) ? at : map.end();
}

std::size_t bytes_of_piece(const Piece& piece) {
    return piece.bytes;
}
std::size_t bytes_of_range(std::size_t bytes) {
    return bytes;
}

void tell(Piece& piece, std::uintptr_t begin) {
    for (std::size_t i = 0; i < reported.size(); ++i) {
        if (reported[i].bytes == 0) {
            reported[i].begin = begin;
            reported[i].bytes = piece.bytes;
            piece.reported = i;
            return;
        }
    }
    piece.reported = reported.size();
}

/// Returns true if the bytes after the piece, up to the end of its last page, are unchanged.
bool is_whole(const Piece& piece, std::uintptr_t begin) {
    const auto first = begin - number(piece.usable());
    const auto* const usable = reinterpret_cast<const unsigned char*>(piece.usable());
    const auto* const end = usable + first + piece.bytes;
    const auto* const last = usable + piece.usable_bytes();
    return std::all_of(end, last, [](unsigned char byte) { return byte == between; });
}

void release(std::map<std::uintptr_t, Piece>::iterator at) {
    if (at->second.reported < reported.size()) {
        reported[at->second.reported].bytes = 0;
    }
    munmap(at->second.mapping, at->second.mapped_bytes);
    pieces.erase(at);
}

}  // namespace

Owned owner_of(const void* address, std::size_t bytes) {
    const std::lock_guard lock{mutex};
    const auto begin = number(address);
    if (const auto at = find(pieces, begin, bytes_of_piece); at != pieces.end()) {
        return {Owner::gpu, at->second.device, begin + bytes <= at->first + at->second.bytes};
    }
    if (const auto at = find(registered, begin, bytes_of_range); at != registered.end()) {
        return {Owner::registered_host, -1, begin + bytes <= at->first + at->second};
    }
    return {};
}

Failure reserve(int device, std::size_t bytes, void** address) {
    report_of_faults();
    const auto used = reserved_bytes(device);
    if (bytes > settings().memory - used) {
        return {cudaErrorMemoryAllocation, std::to_string(bytes) + " bytes beside " + std::to_string(used) +
                                               " of " + std::to_string(settings().memory)};
    }
    const auto usable_bytes = rounded_up(bytes, page);
    Piece piece{.device = device,
                .bytes = bytes,
                .mapping = nullptr,
                .mapped_bytes = usable_bytes + 2 * guard_bytes,
                .reported = 0};
    auto* const memory =
        mmap(nullptr, piece.mapped_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return {cudaErrorMemoryAllocation, std::strerror(errno)};
    }
    piece.mapping = static_cast<std::byte*>(memory);
    const std::lock_guard lock{mutex};
    mprotect(piece.usable(), usable_bytes, PROT_READ | PROT_WRITE);
    auto* const begin = piece.usable() + usable_bytes - rounded_up(bytes, alignment);
    std::memset(begin, 0xff, bytes);  // new memory is not zero
    std::memset(begin + bytes, between, rounded_up(bytes, alignment) - bytes);
    tell(piece, number(begin));
    protect(piece);
    pieces.emplace(number(begin), piece);
    *address = begin;
    return {};
}

Failure free(void* address) {
    const std::lock_guard lock{mutex};
    const auto at = pieces.find(number(address));
    if (at == pieces.end()) {
        return {cudaErrorInvalidValue, "no memory of a GPU begins there"};
    }
    mprotect(at->second.usable(), at->second.usable_bytes(), PROT_READ);
    const bool is_good = is_whole(at->second, at->first);
    const auto bytes = at->second.bytes;
    release(at);
    if (!is_good) {
        return {cudaErrorIllegalAddress,
                "something wrote behind the end of " + std::to_string(bytes) + " bytes of a GPU's memory"};
    }
    return {};
}

void free_all(int device) {
    const std::lock_guard lock{mutex};
    for (auto at = pieces.begin(); at != pieces.end();) {
        const auto next = std::next(at);
        if (at->second.device == device) {
            release(at);
        }
        at = next;
    }
}

std::size_t reserved_bytes(int device) {
    const std::lock_guard lock{mutex};
    std::size_t bytes = 0;
    for (const auto& [begin, piece] : pieces) {
        bytes += piece.device == device ? piece.bytes : 0;
    }
    return bytes;
}

Failure register_host(void* address, std::size_t bytes) {
    const std::lock_guard lock{mutex};
    const auto begin = number(address);
    if (address == nullptr || bytes == 0) {
        return {cudaErrorInvalidValue, "no memory is to be registered"};
    }
    for (const auto& [first, size] : registered) {
        if (begin < first + size && first < begin + bytes) {
            return {cudaErrorHostMemoryAlreadyRegistered, {}};
        }
    }
    registered.emplace(begin, bytes);
    return {};
}

Failure unregister_host(void* address) {
    const std::lock_guard lock{mutex};
    if (registered.erase(number(address)) == 0) {
        return {cudaErrorHostMemoryNotRegistered, {}};
    }
    return {};
}

void open_memory(bool is_open) {
    if (settings().mode != Mode::late) {
        return;
    }
    const std::lock_guard lock{mutex};
    is_closed = !is_open;
    for (const auto& [begin, piece] : pieces) {
        protect(piece);
    }
}

Touched touched(const void* address) noexcept {
    const auto at = number(address);
    for (const auto& each : reported) {
        const auto bytes = each.bytes.load();
        const auto begin = each.begin.load();
        if (bytes > 0 && at + guard_bytes + page >= begin && at < begin + bytes + guard_bytes + page) {
            return {true, static_cast<long long>(at) - static_cast<long long>(begin),
                    static_cast<long long>(bytes)};
        }
    }
    return {};
}

}  // namespace emulated_cuda
