/// Memory of another process of this machine, mapped into this one. Nothing of it has a name in a file
/// system.
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

/// Address of a segment for other processes: a descriptor of its owner, and the file that must be behind it.
/// Travels over MPI as plain words.
struct SegmentAddress {
    std::int64_t process = 0;
    std::int64_t descriptor = -1;  ///< -1: there is none
    std::int64_t device = 0;
    std::int64_t inode = 0;
    std::int64_t bytes = 0;
};

/// Address of `arena` for peers; without a descriptor when it is not shared.
SegmentAddress address_of(const device::Arena& arena);

/// Owns a mapping of a peer's segment, 2 MiB aligned, kept out of forked children and of core dumps.
class PeerMapping {
  public:
    /// Through /proc/<process>/fd/<descriptor>. Nothing, and `why_not` filled, when the owner cannot be seen
    /// from here (another user, another pid namespace, a hardened /proc) or memory is short.
    static std::optional<PeerMapping> open(const SegmentAddress& address, std::string& why_not);

    PeerMapping(PeerMapping&& other) noexcept;
    PeerMapping& operator=(PeerMapping&& other) noexcept;
    ~PeerMapping();

    std::span<std::byte> bytes() const noexcept { return bytes_; }

  private:
    explicit PeerMapping(std::span<std::byte> bytes) noexcept : bytes_{bytes} {}

    std::span<std::byte> bytes_;
};

/// One rank's arena as all ranks of a group see it.
class CommonSegment {
  public:
    /// Zeroed memory that the group's rank 0 makes and the others map; nothing on all ranks when it fails on
    /// any, with the reason of one that failed in `why_not`.
    ///
    /// \param is_allowed  false: behave as on a system that denies it
    /// Collective: over `group`
    static std::optional<CommonSegment> make(
        const Context& group, std::int64_t bytes, const char* purpose, bool is_allowed, std::string& why_not);

    std::byte* data() const noexcept { return own_ ? own_->data() : peer_->bytes().data(); }

  private:
    std::optional<device::Arena> own_;
    std::optional<PeerMapping> peer_;
};

/// Addresses that the ranks pass, by rank.
///
/// Collective: over `group`
std::vector<SegmentAddress> gather_addresses(const Communicator& group, const SegmentAddress& mine);

/// True if no rank gives a reason against. Otherwise the first rank's reason is in `why_not` on all ranks.
///
/// Collective: over `group`
bool agree_on_success(const Context& group, std::string& why_not);

}  // namespace ziggurat::comm
