/// PeerArenas: arenas of all ranks of a node, as mapped in this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ziggurat::comm {

/// Address-independent location in an arena: each process maps the arena at another address.
struct ArenaAddress {
    std::int32_t arena = -1;  ///< number in order of sharing; -1: peers cannot read it
    std::int64_t offset_bytes = 0;

    bool is_shared() const noexcept { return arena >= 0; }
    bool operator==(const ArenaAddress&) const = default;
};

/// Arenas of all local ranks, by number. A rank may have an empty span as its arena k.
class PeerArenas {
  public:
    /// \param by_local_rank  addresses in this process of the next arena of each rank of the node
    void add(std::vector<std::span<std::byte>> by_local_rank);

    /// Returns the location of `bytes` at `address`, if all of them are in one arena of `local_rank`.
    ///
    /// With 0 bytes, any location is returned.
    ArenaAddress find(int local_rank, const std::byte* address, std::int64_t bytes) const noexcept;

    /// Returns the address in this process of a location in an arena of `local_rank`.
    std::byte* at(int local_rank, const ArenaAddress& arena_address) const noexcept {
        return arenas_[arena_address.arena][local_rank].data() + arena_address.offset_bytes;
    }

  private:
    std::vector<std::vector<std::span<std::byte>>> arenas_;  // [arena][local rank]
};

}  // namespace ziggurat::comm
