/// Search for the open homes of one stage, by building programs and bisecting.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "plan/footprint.hpp"
#include "plan/plan_run.hpp"
#include "plan/search/ops_budget.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Search for the smallest part of state that must leave the device, and of it the host, to fit the
/// budgets.
///
/// Open kinds leave piece by piece, in the order of choose_homes().
///
/// `spec`, `machine` and `budget` must outlive it.
class HomeSearch {
  public:
    /// \param stage  the only stage that is planned
    HomeSearch(const spec::RunSpec& spec,
               const spec::MachineSpec& machine,
               const PlanningBudget& budget,
               std::optional<int> stage = {});

    /// Returns `spec` with sufficient homes, and no home open.
    ///
    /// If no choice suffices, all state that can move is away. If no home is open, only checks the run.
    spec::RunSpec run();

    /// Returns the footprint of the result of run().
    const Footprint& found() const { return found_; }

    /// True if the device's budget suffices when all state that can move is on the host.
    bool device_can_hold() const;

    /// True if it suffices when only the kinds that leave before activations are on the host.
    bool device_can_keep_activations() const;

  private:
    /// Open kind, and the number of pieces into which it can be divided.
    struct AutoHome {
        spec::Home spec::Tiers::*home;
        spec::Home spec::StageState::*of_stage;
        bool spec::AutoHomes::*is_auto;
        std::int64_t pieces = 1;
    };

    /// Returns the open kinds in the order in which they leave, with the pieces of a rank of `stage`.
    static std::vector<AutoHome> open_kinds(const spec::RunSpec& spec, int stage);

    std::int64_t min(std::int64_t max, const std::function<bool(std::int64_t)>& fits) const;
    std::int64_t resolution() const;
    void make_room_for_all(bool has_nvme);
    spec::RunSpec with(std::int64_t away, std::int64_t far) const;
    Footprint footprint(std::int64_t away, std::int64_t far, PlannedRanks which = PlannedRanks::first) const;

    const spec::RunSpec& spec_;
    const spec::MachineSpec& machine_;
    const PlanningBudget& budget_;
    std::optional<int> stage_;
    std::vector<AutoHome> kinds_;
    std::int64_t total_bytes_ = 0;
    std::int64_t resolution_ = 1;  ///< in pieces; larger for large programs, so that fewer are built
    std::int64_t away_ = 0;
    std::int64_t on_nvme_ = 0;
    Footprint found_;
};

}  // namespace ziggurat::plan
