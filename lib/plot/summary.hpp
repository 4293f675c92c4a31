/// Key figures of a run, for a table or a screen.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "plot/history.hpp"

namespace ziggurat::plot {

/// What became of a run, as far as its metrics tell.
enum class Fate {
    goes_on,   ///< or was killed: nothing says that it has ended
    finished,  ///< all steps are done
    stopped,   ///< as asked, with more to do
    failed
};

/// Figures over the latest steps of a run, or over all of them.
struct Summary {
    std::int64_t last_step = 0;
    std::int64_t tokens = 0;
    std::optional<double> last_loss = {};  ///< nats per token, of the last step that has one
    std::optional<Validation> best_validation = {};
    double tok_s = 0;                               ///< median
    double step_s = 0;                              ///< median
    double mfu = 0;                                 ///< mean over time; 0: unknown
    std::array<double, lanes.size()> waited{};      ///< share of the time for each lane, 0 to 1
    std::array<double, tiers.size()> peak_bytes{};  ///< by MemoryTier
    double trained_s = 0;                           ///< all steps
    std::int64_t complete_saves = 0;
    Fate fate = Fate::goes_on;

    /// Share of the time that was waited for anything.
    double waited_in_all() const;
};

/// \param most_steps  only the latest so many count for medians, shares and peaks
/// \pre history has a step
Summary summarise(const History& history, std::int64_t most_steps);

/// How often a run was resumed, rolled back and so on: `2 resumes, 1 spike`; empty if never.
std::string marks_text(const History& history);

/// `finished`, `stopped with 75: ...`, and so on.
std::string fate_text(const History& history);

}  // namespace ziggurat::plot
