/// The arenas of the tiers that this rank computes from.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "device/arena.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::state {

/// Reserves once what the programs of a run need and says where their buffers lie.
///
/// What collectives touch lies in shared arenas where there is more than one rank.
/// All programs of a run share the arenas: persistent buffers lie at the same place in each of them.
class TierMemory {
  public:
    /// Errors: Error{resource} when the system has not that much; contract when two programs disagree
    TierMemory(const std::vector<const schedule::Program*>& programs, int ranks);

    /// Indexed by schedule::arena_of.
    std::array<std::byte*, schedule::num_arenas> arenas() const noexcept;
    /// Those that peers are to map; empty ones among them.
    std::span<const device::Arena> shared() const noexcept { return std::span{arenas_}.subspan(3); }
    std::byte* at(const schedule::Buffer& buffer) const;
    template <class E>
    std::span<E> span(const schedule::Buffer& buffer) const {
        return {reinterpret_cast<E*>(at(buffer)), static_cast<std::size_t>(buffer.bytes) / sizeof(E)};
    }
    /// Of both arenas of a tier.
    std::int64_t bytes(spec::Tier tier) const noexcept;
    /// Of all arenas that no other rank can map.
    std::int64_t private_bytes() const noexcept;

  private:
    std::array<device::Arena, schedule::num_arenas> arenas_;
};

}  // namespace ziggurat::state
