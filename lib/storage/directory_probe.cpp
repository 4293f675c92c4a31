#include "storage/directory_probe.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <hdf5.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "base/pages.hpp"
#include "storage/direct_file.hpp"

namespace ziggurat::storage {
namespace {

constexpr std::int64_t block_bytes = 64 * page_bytes;

struct Known {
    std::uint32_t magic;
    const char* name;
    bool is_network;
};

/// Source: statfs(2), and the headers of Lustre, GPFS and BeeGFS
constexpr std::array known_systems{
    Known{0xef53, "ext4", false},         Known{0x58465342, "xfs", false},
    Known{0x9123683e, "btrfs", false},    Known{0x2fc12fc1, "zfs", false},
    Known{0xf2f52010, "f2fs", false},     Known{0x01021994, "tmpfs", false},
    Known{0x858458f6, "ramfs", false},    Known{0x794c7630, "overlay", false},
    Known{0x73717368, "squashfs", false}, Known{0x6969, "NFS", true},
    Known{0xff534d42, "CIFS", true},      Known{0xfe534d42, "SMB", true},
    Known{0x0bd00bd0, "Lustre", true},    Known{0x47504653, "GPFS", true},
    Known{0x19830326, "BeeGFS", true},    Known{0x00c36400, "Ceph", true},
    Known{0x65735546, "FUSE", true},      Known{0x01021997, "9p", true},
    Known{0x5346414f, "AFS", true},       Known{0x6b414653, "AFS", true},
    Known{0xaad7aaea, "PanFS", true},
};

/// Memory with the alignment that O_DIRECT needs.
struct Block {
    alignas(page_bytes) std::array<std::byte, block_bytes> bytes;
};

/// Fills the block so that all pages differ.
void fill(Block& block) {
    for (std::size_t i = 0; i < block.bytes.size(); ++i) {
        block.bytes[i] = static_cast<std::byte>((i * 131 + i / page_bytes) & 0xff);
    }
}

/// Writes, flushes and reads back one block; returns the difference, empty if there is no difference.
std::string damage_of(DirectFile& file) {
    const auto written = std::make_unique<Block>();
    const auto read = std::make_unique<Block>();
    fill(*written);
    file.reserve(block_bytes);
    file.write(0, written->bytes);
    file.flush();
    const auto arrived = file.read(0, read->bytes);
    if (arrived < block_bytes) {
        return fmt::format("only {} of {} bytes could be read back", arrived, block_bytes);
    }
    const auto at = std::ranges::mismatch(written->bytes, read->bytes).in1 - written->bytes.begin();
    return at == block_bytes ? ""
                             : fmt::format("the bytes read differ from those written, from byte {} on", at);
}

/// Extracts the system's reason from `cannot create '/x' (Read-only file system). ...`.
std::string reason_in(const std::string& message) {
    const auto begin = message.find("' (");
    const auto end = message.find(").", begin);
    return begin == std::string::npos || end == std::string::npos
               ? message
               : message.substr(begin + 3, end - begin - 3);
}

std::string version_text(unsigned major, unsigned minor, unsigned release) {
    return fmt::format("{}.{}.{}", major, minor, release);
}

}  // namespace

FileSystem file_system_of(const std::string& folder) noexcept {
    struct statfs system = {};
    struct statvfs space = {};
    if (statfs(folder.c_str(), &system) != 0 || statvfs(folder.c_str(), &space) != 0) {
        return {};
    }
    const auto magic = static_cast<std::uint32_t>(system.f_type);
    const auto* const found = std::ranges::find(known_systems, magic, &Known::magic);
    const bool is_known = found != known_systems.end();
    const std::string name = is_known ? found->name : fmt::format("type {:#x}", magic);
    return {
        .name = name,
        .is_network = is_known && found->is_network,
        .is_memory = name == "tmpfs" || name == "ramfs",
        .has_size = space.f_blocks > 0,
        .free_bytes = static_cast<std::int64_t>(space.f_bavail) * static_cast<std::int64_t>(space.f_frsize)};
}

DirectoryProbe probe_directory(const std::string& folder) {
    DirectoryProbe trial;
    try {
        auto file = DirectFile::create_unnamed(folder);
        trial.damage = damage_of(file);
        trial.not_direct_reason = file.not_direct_reason();
        if (::flock(file.descriptor(), LOCK_EX | LOCK_NB) != 0) {
            trial.has_no_locks = errno == ENOSYS;
            trial.no_lock_reason = std::strerror(errno);
        }
    } catch (const Error& error) {
        trial.no_file_reason = reason_in(error.what());
    }
    return trial;
}

std::string hdf5_headers() {
    return version_text(H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE);
}

std::string hdf5_running() {
    unsigned major = 0;
    unsigned minor = 0;
    unsigned release = 0;
    return H5get_libversion(&major, &minor, &release) < 0 ? "unknown" : version_text(major, minor, release);
}

bool asks_hdf5_for_no_locks() {
    return H5_VERSION_GE(1, 10, 7);
}

}  // namespace ziggurat::storage
