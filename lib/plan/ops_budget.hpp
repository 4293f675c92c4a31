/// Budget of ops that a search may build.
#pragma once

#include <cstddef>

#include "plan/watch.hpp"

namespace ziggurat::plan {

/// What the searches of one answer may build, all together: about five seconds, of the ten within which every
/// answer comes. Each has its part whether others take theirs or not, so `train`, which does without some,
/// finds what `check` found.
inline constexpr std::size_t most_ops_of_homes = 400'000;
inline constexpr std::size_t most_ops_of_depths = 250'000;
inline constexpr std::size_t most_ops_of_remedies = 200'000;

/// Counts the ops of what is built through its watch(). Time is no measure: the same search has to end with
/// the same answer on every rank and on every machine.
class OpsBudget {
  public:
    /// \param seen_by  is told as well
    OpsBudget(std::size_t most, const Watch& seen_by)
        : most_{most}, watch_{[this, seen_by](std::size_t ops) {
              spent_ += ops;
              if (seen_by) {
                  seen_by(ops);
              }
          }} {}
    OpsBudget(const OpsBudget&) = delete;
    OpsBudget& operator=(const OpsBudget&) = delete;

    const Watch& watch() const noexcept { return watch_; }
    bool is_spent() const noexcept { return spent_ >= most_; }
    bool is_half_spent() const noexcept { return spent_ >= most_ / 2; }

  private:
    std::size_t most_;
    std::size_t spent_ = 0;
    Watch watch_;
};

}  // namespace ziggurat::plan
