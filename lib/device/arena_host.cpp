#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "device/arena.hpp"

namespace ziggurat::device {
namespace {

constexpr std::int64_t huge_page_bytes = std::int64_t{2} << 20;
/// Below this size, small pages cost less than the request for huge pages.
constexpr std::int64_t worth_collapsing_bytes = std::int64_t{16} << 20;
/// MADV_COLLAPSE, available since Linux 6.1.
///
/// Older systems reject it, and older headers do not define it.
constexpr int madvise_collapse = 25;

std::int64_t whole_pages(std::int64_t bytes) {
    return (bytes + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
}

[[noreturn]] void refuse(std::int64_t bytes, const char* purpose) {
    throw Error{ErrorKind::resource,
                "cannot reserve " + std::to_string(bytes) + " bytes for " + purpose + " (" +
                    std::strerror(errno) +
                    "). Use more ranks, a smaller micro_batch, or recompute.kind: full."};
}

/// Reserves address space for `bytes`, aligned to a huge page.
///
/// It reserves one more page, then unmaps the excess.
std::byte* reserve(std::int64_t bytes, const char* purpose) {
    const std::size_t reserved = bytes + huge_page_bytes;
    void* address = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) {
        refuse(bytes, purpose);
    }
    const auto before =
        -reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(huge_page_bytes);
    auto* const aligned = static_cast<std::byte*>(address) + before;
    if (before > 0) {
        munmap(address, before);
    }
    munmap(aligned + bytes, static_cast<std::size_t>(huge_page_bytes) - before);
    return aligned;
}

/// Maps memory into reserved address space: the segment `descriptor`, or anonymous memory if it is -1.
std::byte* map(std::int64_t bytes, int descriptor, const char* purpose) {
    auto* const at = reserve(bytes, purpose);
    const std::size_t size = bytes;
    const int flags = descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
    if (mmap(at, size, PROT_READ | PROT_WRITE, flags | MAP_FIXED, descriptor, 0) == MAP_FAILED) {
        const int reason = errno;
        munmap(at, size);
        errno = reason;
        refuse(bytes, purpose);
    }
    madvise(at, size, MADV_HUGEPAGE);
    return at;
}

int make_segment(std::int64_t bytes, const char* purpose) {
    const int descriptor = memfd_create("ziggurat", MFD_CLOEXEC);
    if (descriptor < 0) {
        refuse(bytes, purpose);
    }
    if (ftruncate(descriptor, bytes) != 0) {
        const int reason = errno;
        close(descriptor);
        errno = reason;
        refuse(bytes, purpose);
    }
    return descriptor;
}

/// Collapses the pages of a segment to huge pages.
///
/// Most systems give segments small pages regardless of madvise (shmem_enabled is `never`). If the system
/// cannot collapse pages, the arena still works.
///
/// Collapsing requires that one page of each range exists. With exactly one there is nothing to copy. So this
/// is also the fastest way to fill a segment: 2 to 16 GB/s, against 1.4 by faults of small pages (two cores,
/// Linux 6.18).
void collapse(std::byte* at, std::int64_t bytes) {
    if (bytes < worth_collapsing_bytes) {
        return;
    }
    for (std::int64_t i = 0; i < bytes; i += huge_page_bytes) {
        *const_cast<volatile std::byte*>(at + i) = std::byte{0};
    }
    madvise(at, bytes, madvise_collapse);
}

}  // namespace

Arena::Arena(std::int64_t bytes, const char* purpose, Kind kind) : bytes_{whole_pages(bytes)} {
    ZG_EXPECTS(bytes >= 0);
    if (bytes_ == 0) {
        return;
    }
    if (kind == Kind::shared) {
        descriptor_ = make_segment(bytes_, purpose);
    }
    try {
        data_ = host_view_ = map(bytes_, descriptor_, purpose);
        if (kind == Kind::shared) {
            staging_ = data_;
            collapse(data_, bytes_);
        }
    } catch (...) {
        close(descriptor_);
        throw;
    }
}

Arena::Arena(OfDevice memory) noexcept
    : data_{memory.data},
      host_view_{memory.host_view},
      staging_{memory.staging},
      bytes_{memory.bytes},
      descriptor_{memory.descriptor},
      owner_{std::move(memory.owner)} {}

Arena::~Arena() {
    if (owner_ != nullptr) {
        return;
    }
    if (data_ != nullptr) {
        munmap(data_, bytes_);
    }
    if (descriptor_ >= 0) {
        close(descriptor_);
    }
}

Arena::Arena(Arena&& other) noexcept
    : data_{std::exchange(other.data_, nullptr)},
      host_view_{std::exchange(other.host_view_, nullptr)},
      staging_{std::exchange(other.staging_, nullptr)},
      bytes_{std::exchange(other.bytes_, 0)},
      descriptor_{std::exchange(other.descriptor_, -1)},
      owner_{std::move(other.owner_)} {}

Arena& Arena::operator=(Arena&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(host_view_, other.host_view_);
    std::swap(staging_, other.staging_);
    std::swap(bytes_, other.bytes_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(owner_, other.owner_);
    return *this;
}

}  // namespace ziggurat::device
