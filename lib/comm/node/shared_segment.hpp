/// Memory of another process of this node, mapped into this one, without a name in a file system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/context.hpp"
#include "device/arena.hpp"

namespace ziggurat::comm {

/// Address of a segment for other processes: a descriptor of its owner, and the file it must refer to.
///
/// Sent over MPI as plain integers.
struct SegmentAddress {
    std::int64_t process = 0;
    std::int64_t descriptor = -1;  ///< -1: the arena is not shared
    std::int64_t device = 0;
    std::int64_t inode = 0;
    std::int64_t bytes = 0;
};

/// Returns the address of `arena` for peers; without a descriptor if it is not shared.
SegmentAddress address_of(const device::Arena& arena);

/// Mapping of a peer's segment, 2 MiB aligned, excluded from forked children and core dumps.
class PeerMapping {
  public:
    /// Maps the segment through /proc/<process>/fd/<descriptor>.
    ///
    /// Returns nullopt and sets `obstacle` if the owner is not accessible (another user, another pid
    /// namespace, a hardened /proc) or memory is insufficient.
    static std::optional<PeerMapping> open(const SegmentAddress& address, std::string& obstacle);

    PeerMapping(PeerMapping&& other) noexcept;
    PeerMapping& operator=(PeerMapping&& other) noexcept;
    ~PeerMapping();

    std::span<std::byte> bytes() const noexcept { return bytes_; }

  private:
    explicit PeerMapping(std::span<std::byte> bytes) noexcept : bytes_{bytes} {}

    std::span<std::byte> bytes_;
};

/// Arena of one rank that all ranks of a group have mapped.
class CommonSegment {
  public:
    /// Allocates zeroed memory on the group's rank 0, and maps it on the others.
    ///
    /// If this fails on any rank, returns nullopt on all ranks, with the reason of one failed rank in
    /// `obstacle`.
    ///
    /// \param is_allowed  false: behave as on a system that denies sharing
    /// Collective: over `group`
    static std::optional<CommonSegment> make(const Context& group,
                                             std::int64_t bytes,
                                             const char* purpose,
                                             bool is_allowed,
                                             std::string& obstacle);

    std::byte* data() const noexcept { return own_ ? own_->data() : peer_->bytes().data(); }

  private:
    std::optional<device::Arena> own_;
    std::optional<PeerMapping> peer_;
};

/// Gathers the addresses of all ranks, by rank.
///
/// Collective: over `group`
std::vector<SegmentAddress> gather_addresses(const Communicator& group, const SegmentAddress& mine);

/// True if `obstacle` is empty on all ranks. Otherwise sets it to the first rank's reason on all ranks.
///
/// Collective: over `group`
bool agree_on_success(const Context& group, std::string& obstacle);

}  // namespace ziggurat::comm
