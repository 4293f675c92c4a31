#include <sys/mman.h>

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

std::int64_t whole_pages(std::int64_t bytes) {
    return (bytes + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
}

/// Maps `bytes` at an address that is a multiple of a huge page: maps one page more and gives the rest back.
std::byte* map(std::int64_t bytes, const char* purpose) {
    const auto reserved = static_cast<std::size_t>(bytes + huge_page_bytes);
    void* address =
        mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) {
        throw Error{ErrorKind::resource,
                    "cannot reserve " + std::to_string(bytes) + " bytes for " + purpose + " (" +
                        std::strerror(errno) +
                        "). Use more ranks, a smaller micro_batch, or recompute.kind: full."};
    }
    const auto start = reinterpret_cast<std::uintptr_t>(address);
    const auto page = static_cast<std::uintptr_t>(huge_page_bytes);
    const auto aligned = (start + page - 1) / page * page;
    if (aligned > start) {
        munmap(address, aligned - start);
    }
    const auto end = aligned + static_cast<std::uintptr_t>(bytes);
    if (start + reserved > end) {
        munmap(reinterpret_cast<void*>(end), start + reserved - end);
    }
    madvise(reinterpret_cast<void*>(aligned), static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
    return reinterpret_cast<std::byte*>(aligned);
}

}  // namespace

Arena::Arena(std::int64_t bytes, const char* purpose) : bytes_{whole_pages(bytes)} {
    ZG_EXPECTS(bytes >= 0);
    if (bytes_ > 0) {
        data_ = map(bytes_, purpose);
    }
}

Arena::~Arena() {
    if (data_ != nullptr) {
        munmap(data_, static_cast<std::size_t>(bytes_));
    }
}

Arena::Arena(Arena&& other) noexcept
    : data_{std::exchange(other.data_, nullptr)}, bytes_{std::exchange(other.bytes_, 0)} {}

Arena& Arena::operator=(Arena&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

}  // namespace ziggurat::device
