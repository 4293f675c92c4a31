#include "comm/node/shared_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "comm/check_mpi.hpp"
#include "comm/control.hpp"

namespace ziggurat::comm {
namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
constexpr int words_of_address = sizeof(SegmentAddress) / sizeof(std::int64_t);
static_assert(std::is_trivially_copyable_v<SegmentAddress>);

std::string reason() {
    return std::strerror(errno);
}

/// Maps at a multiple of a huge page; returns nullptr on failure.
std::byte* map_aligned(int descriptor, std::size_t bytes) {
    const std::size_t reserved = bytes + huge_page_bytes;
    void* room = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) {
        return nullptr;
    }
    const auto begin = reinterpret_cast<std::uintptr_t>(room);
    const auto aligned = (begin + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
    auto* at = reinterpret_cast<void*>(aligned);
    if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, 0) == MAP_FAILED) {
        const int cause = errno;
        munmap(room, reserved);
        errno = cause;
        return nullptr;
    }
    const std::uintptr_t end = aligned + bytes;
    if (aligned > begin) {
        munmap(room, aligned - begin);
    }
    if (begin + reserved > end) {
        munmap(reinterpret_cast<void*>(end), begin + reserved - end);
    }
    return static_cast<std::byte*>(at);
}

}  // namespace

SegmentAddress address_of(const device::Arena& arena) {
    SegmentAddress address{.process = getpid(), .bytes = arena.bytes()};
    struct stat file {};
    if (arena.descriptor() >= 0 && fstat(arena.descriptor(), &file) == 0) {
        address.descriptor = arena.descriptor();
        address.device = static_cast<std::int64_t>(file.st_dev);
        address.inode = static_cast<std::int64_t>(file.st_ino);
    }
    return address;
}

std::optional<PeerMapping> PeerMapping::open(const SegmentAddress& address, std::string& obstacle) {
    const std::string path =
        "/proc/" + std::to_string(address.process) + "/fd/" + std::to_string(address.descriptor);
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor < 0) {
        obstacle = "cannot open " + path + ": " + reason();
        return std::nullopt;
    }
    // In another pid namespace, the same number may be a different process.
    struct stat file {};
    const bool is_meant = fstat(descriptor, &file) == 0 &&
                          static_cast<std::int64_t>(file.st_dev) == address.device &&
                          static_cast<std::int64_t>(file.st_ino) == address.inode;
    if (!is_meant) {
        close(descriptor);
        obstacle = path + " is a different segment (the owner is in another pid namespace)";
        return std::nullopt;
    }
    const std::size_t bytes = address.bytes;
    std::byte* at = map_aligned(descriptor, bytes);
    if (at == nullptr) {
        obstacle = "cannot map " + std::to_string(bytes) + " bytes of a peer: " + reason();
        close(descriptor);
        return std::nullopt;
    }
    close(descriptor);
    madvise(at, bytes, MADV_HUGEPAGE);
    madvise(at, bytes, MADV_DONTFORK);
    madvise(at, bytes, MADV_DONTDUMP);
    return PeerMapping{{at, bytes}};
}

PeerMapping::PeerMapping(PeerMapping&& other) noexcept : bytes_{std::exchange(other.bytes_, {})} {}

PeerMapping& PeerMapping::operator=(PeerMapping&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
}

PeerMapping::~PeerMapping() {
    if (!bytes_.empty()) {
        munmap(bytes_.data(), bytes_.size());
    }
}

std::vector<SegmentAddress> gather_addresses(const Communicator& group, const SegmentAddress& mine) {
    std::vector<SegmentAddress> all(group.size());
    ZG_MPI(MPI_Allgather(&mine, words_of_address, MPI_INT64_T, all.data(), words_of_address, MPI_INT64_T,
                         group.native()));
    return all;
}

bool agree_on_success(const Context& group, std::string& obstacle) {
    // All ranks report the reason of the lowest failed rank.
    int first = obstacle.empty() ? group.size() : group.rank();
    ZG_MPI(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, group.group().native()));
    if (first == group.size()) {
        return true;
    }
    obstacle = broadcast(group, obstacle, first);
    return false;
}

std::optional<CommonSegment> CommonSegment::make(
    const Context& group, std::int64_t bytes, const char* purpose, bool is_allowed, std::string& obstacle) {
    std::string problem = is_allowed ? "" : "sharing is disabled";
    CommonSegment segment;
    SegmentAddress address;
    if (group.rank() == 0 && is_allowed) {
        try {
            segment.own_.emplace(bytes, purpose, device::Arena::Kind::shared);
            address = address_of(*segment.own_);
        } catch (const Error& error) {
            problem = error.what();
        }
    }
    ZG_MPI(MPI_Bcast(&address, words_of_address, MPI_INT64_T, 0, group.group().native()));
    if (group.rank() != 0 && problem.empty() && address.descriptor >= 0) {
        segment.peer_ = PeerMapping::open(address, problem);
    }
    if (!agree_on_success(group, problem)) {
        obstacle = problem;
        return std::nullopt;
    }
    return segment;
}

}  // namespace ziggurat::comm
