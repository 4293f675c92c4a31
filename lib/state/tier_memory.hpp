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
/// All programs of a run share the arenas: persistent buffers lie at the same place in each of them.
class TierMemory {
  public:
    /// Errors: Error{resource} when the system has not that much; contract when two programs disagree
    explicit TierMemory(const std::vector<const schedule::Program*>& programs);

    std::array<std::byte*, 3> arenas() const noexcept;
    std::byte* at(const schedule::Buffer& buffer) const;
    template <class E>
    std::span<E> span(const schedule::Buffer& buffer) const {
        return {reinterpret_cast<E*>(at(buffer)), static_cast<std::size_t>(buffer.bytes) / sizeof(E)};
    }
    std::int64_t bytes(spec::Tier tier) const noexcept {
        return arenas_[static_cast<std::size_t>(tier)].bytes();
    }

  private:
    std::array<device::Arena, 3> arenas_;
};

}  // namespace ziggurat::state
