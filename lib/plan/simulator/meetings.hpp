/// Meetings of ranks: collectives, messages and step ends, which begin when all their ranks are ready.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::plan {

/// Meetings of the programs of some ranks in one step.
///
/// Collectives of a group meet in the order of its lane. Messages meet by sender, receiver and tag. Ranks
/// that are not simulated are always ready.
class Meetings {
  public:
    /// \param programs  of different ranks
    explicit Meetings(std::span<const schedule::Program* const> programs);

    /// Returns the index of the meeting of an op; -1 if it needs no other simulated rank.
    int of(std::size_t program, std::size_t op) const { return meetings_[program][op]; }
    /// Returns the number of ranks that take part.
    int size(int meeting) const { return sizes_[static_cast<std::size_t>(meeting)]; }
    int count() const noexcept { return static_cast<int>(sizes_.size()); }

  private:
    std::vector<std::vector<int>> meetings_;  ///< by program and op
    std::vector<int> sizes_;
};

}  // namespace ziggurat::plan
