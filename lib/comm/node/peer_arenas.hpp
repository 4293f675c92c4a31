/// Arenas of all ranks of a node, as this process has mapped them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ziggurat::comm {

/// A byte of an arena, said without an address: the same arena lies elsewhere in each process.
struct SharedPlace {
    std::int32_t arena = -1;  ///< number in order of sharing; -1: nowhere that peers can read
    std::int64_t offset_bytes = 0;

    bool is_shared() const noexcept { return arena >= 0; }
    bool operator==(const SharedPlace&) const = default;
};

/// Arena k of every local rank, for each k. A rank may have nothing (an empty span) as its arena k.
class PeerArenas {
  public:
    /// \param by_local_rank  where the next arena of each rank of the node lies in this process
    void add(std::vector<std::span<std::byte>> by_local_rank);

    /// Place of the `bytes` from `address`, if all of them are in one arena of `local_rank`. Without bytes
    /// any place will do.
    SharedPlace find(int local_rank, const std::byte* address, std::int64_t bytes) const noexcept;

    /// The address here of a place that `local_rank` named.
    std::byte* at(int local_rank, const SharedPlace& place) const noexcept {
        return arenas_[static_cast<std::size_t>(place.arena)][static_cast<std::size_t>(local_rank)].data() +
               place.offset_bytes;
    }

  private:
    std::vector<std::vector<std::span<std::byte>>> arenas_;  // [arena][local rank]
};

}  // namespace ziggurat::comm
