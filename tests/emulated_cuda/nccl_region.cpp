#include "tests/emulated_cuda/nccl_region.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace emulated_cuda {
namespace {

struct Origin {
    std::uint64_t cookie;
    int process;
    int descriptor;
};

Origin origin_of(const ncclUniqueId& id) {
    Origin origin{};
    std::memcpy(&origin, id.internal, sizeof origin);
    return origin;
}

std::unique_ptr<MappedRegion> map(int descriptor, std::string& error) {
    void* const at = mmap(nullptr, sizeof(Region), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (at == MAP_FAILED) {
        error = std::strerror(errno);
        return nullptr;
    }
    return std::make_unique<MappedRegion>(at);
}

}  // namespace

std::unique_ptr<MappedRegion> MappedRegion::make(ncclUniqueId& id, std::string& error) {
    const int descriptor = memfd_create("emulated_nccl", MFD_CLOEXEC);
    if (descriptor < 0 || ftruncate(descriptor, sizeof(Region)) != 0) {
        error = std::strerror(errno);
        return nullptr;
    }
    auto region = map(descriptor, error);
    if (region != nullptr) {
        struct stat file {};
        fstat(descriptor, &file);
        (*region)->cookie = file.st_ino;  // differs for each such file
        const Origin origin{(*region)->cookie, getpid(), descriptor};
        id = {};
        std::memcpy(id.internal, &origin, sizeof origin);
    }
    return region;
}

std::unique_ptr<MappedRegion> MappedRegion::open(const ncclUniqueId& id, std::string& error) {
    const auto origin = origin_of(id);
    const auto path = "/proc/" + std::to_string(origin.process) + "/fd/" + std::to_string(origin.descriptor);
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor < 0) {
        error = std::strerror(errno);
        return nullptr;
    }
    auto region = map(descriptor, error);
    close(descriptor);
    if (region != nullptr && (*region)->cookie != origin.cookie) {
        error = "the process that made the unique id has ended";
        region.reset();
    }
    return region;
}

MappedRegion::~MappedRegion() {
    munmap(region_, sizeof(Region));
}

void forget_descriptor(const ncclUniqueId& id) {
    const auto origin = origin_of(id);
    if (origin.process == getpid()) {
        close(origin.descriptor);
    }
}

ProcessWatch::ProcessWatch(int process)
    : descriptor_{static_cast<int>(syscall(SYS_pidfd_open, process, 0))} {}

ProcessWatch::~ProcessWatch() {
    if (descriptor_ >= 0) {
        close(descriptor_);
    }
}

bool ProcessWatch::has_ended() const {
    pollfd asked{descriptor_, POLLIN, 0};
    return descriptor_ < 0 || poll(&asked, 1, 0) > 0;
}

}  // namespace emulated_cuda
