/// Key figures of a run, for a table or a screen.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plot/history.hpp"

namespace ziggurat::plot {

/// Outcome of a run, as far as its metrics show it.
enum class RunOutcome {
    running,   ///< running, or killed: the metrics have no end
    finished,  ///< all steps are done
    stopped,   ///< stopped on request before the last step
    failed
};

/// Key figures over the latest steps of a run, or over all of them.
struct Summary {
    std::int64_t last_step = 0;
    std::int64_t tokens = 0;
    std::optional<double> last_loss = {};  ///< of the last step with a loss
    std::optional<Rewards> last_rewards = {};
    std::optional<Validation> best_validation = {};
    double tok_s = 0;                               ///< median
    double step_s = 0;                              ///< median
    double mfu = 0;                                 ///< mean over time; 0: unknown
    std::array<double, lanes.size()> waited{};      ///< stall share of the time by lane, 0 to 1
    std::array<double, tiers.size()> peak_bytes{};  ///< by MemoryTier
    double trained_s = 0;                           ///< seconds over all steps
    std::int64_t complete_saves = 0;
    RunOutcome fate = RunOutcome::running;

    /// Returns the stall share of the time over all lanes.
    double waited_in_all() const;
};

/// Summarizes a run.
///
/// \param max_steps  number of latest steps used for medians, shares and peaks
/// \pre history has a step
Summary summarise(const History& history, std::int64_t max_steps);

/// Returns a loss with its unit if that is not nats per token: `2.3026`, `0.6931 per pair`.
std::string loss_text(double loss, LossKind kind);

/// Returns the latest loss of a source in rows with `loss_by_source`, and its step.
template <class Row>
std::optional<std::pair<double, std::int64_t>> latest_loss(const std::vector<Row>& rows, std::size_t source) {
    for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
        if (source < row->loss_by_source.size() && std::isfinite(row->loss_by_source[source])) {
            return std::pair{row->loss_by_source[source], row->step};
        }
    }
    return std::nullopt;
}

/// Returns the counts of resumes, roll-backs and so on: `2 resumes, 1 spike`; empty if there are no
/// marks.
std::string marks_text(const History& history);

/// Returns `finished`, `stopped: SIGUSR1`, `failed with 3: ...`, and so on.
std::string fate_text(const History& history);

}  // namespace ziggurat::plot
