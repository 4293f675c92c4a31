/// Limit of the number of ops that a search may build.
#pragma once

#include <cstddef>

#include "plan/watch.hpp"

namespace ziggurat::plan {

/// Numbers of ops that the searches of one answer may build: together about five seconds of the ten
/// seconds within which every answer comes. Each search has its own part, even if others do not use theirs.
/// So `train`, which omits some searches, finds the same result as `check`.
inline constexpr std::size_t max_ops_of_homes = 400'000;
inline constexpr std::size_t max_ops_of_depths = 250'000;
inline constexpr std::size_t max_ops_of_remedies = 200'000;

/// Number of ops after which a comparison of homes by time tries no other homes: about six seconds.
inline constexpr std::size_t max_ops_of_comparison = 900'000;

/// Counts the ops that are built, through its watch(). The limit is not a time, because the same search
/// must end with the same result on every rank and machine.
class PlanningBudget {
  public:
    /// \param seen_by  is also called
    PlanningBudget(std::size_t max, const Watch& seen_by)
        : max_{max}, watch_{[this, seen_by](std::size_t ops) {
              spent_ += ops;
              if (seen_by) {
                  seen_by(ops);
              }
          }} {}
    PlanningBudget(const PlanningBudget&) = delete;
    PlanningBudget& operator=(const PlanningBudget&) = delete;

    const Watch& watch() const noexcept { return watch_; }
    bool is_spent() const noexcept { return spent_ >= max_; }
    bool is_half_spent() const noexcept { return spent_ >= max_ / 2; }

  private:
    std::size_t max_;
    std::size_t spent_ = 0;
    Watch watch_;
};

}  // namespace ziggurat::plan
