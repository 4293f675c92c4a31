/// Rendezvous of ranks: collectives, messages and step ends begin when all their ranks are ready.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::plan {

/// The rendezvous of some ranks in one step.
///
/// Collectives of a group are matched in the order of its lane, messages by sender, receiver and tag. Ranks
/// that are not simulated are always ready.
class RendezvousTable {
  public:
    /// \param programs  of different ranks
    explicit RendezvousTable(std::span<const schedule::Program* const> programs);

    /// Returns the index of the rendezvous of an op; -1 if it needs no other simulated rank.
    int of(std::size_t program, std::size_t op) const { return rendezvous_[program][op]; }
    /// Returns the number of ranks that take part.
    int size(int rendezvous) const { return sizes_[static_cast<std::size_t>(rendezvous)]; }
    int count() const noexcept { return static_cast<int>(sizes_.size()); }

  private:
    std::vector<std::vector<int>> rendezvous_;  ///< by program and op
    std::vector<int> sizes_;
};

}  // namespace ziggurat::plan
