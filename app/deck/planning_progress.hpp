/// Planning with a progress line.
#pragma once

#include <cstdint>
#include <utility>

#include "app/bench/kept_peak.hpp"
#include "app/start/token_sources.hpp"
#include "base/progress.hpp"
#include "deck/load_options.hpp"
#include "plan/layouts/choose_layout.hpp"
#include "plan/search/choose_accumulation.hpp"
#include "plan/search/choose_depths.hpp"
#include "plan/search/choose_leases.hpp"
#include "plan/search/choose_tensor_overlap.hpp"
#include "plan/search/fastest_homes.hpp"
#include "plan/watch.hpp"

namespace ziggurat::app {

/// Progress line of a part of the planning: `plans: 1,234,567 operations, 3 s`.
class PlanningProgress {
  public:
    explicit PlanningProgress(Progress& progress) : progress_{progress} {
        progress.begin("plans", "operations");
    }
    ~PlanningProgress() { progress_.end(); }
    PlanningProgress(const PlanningProgress&) = delete;
    PlanningProgress& operator=(const PlanningProgress&) = delete;

    plan::Watch watch() const {
        return [this](std::size_t ops) { progress_.advance(static_cast<std::int64_t>(ops)); };
    }

  private:
    Progress& progress_;
};

/// Returns deck::LoadOptions::choose_layout with a progress line. `progress` must outlive it.
///
/// \param kept_peak  of this machine, for a machine whose rate of products is unknown; empty for others
inline auto choose_layout_with_progress(Progress& progress, KeptPeakOf kept_peak) {
    return [&progress, kept_peak = std::move(kept_peak)](
               const spec::RunSpec& run, const spec::MachineSpec& machine, const spec::LayoutSpace& space,
               const spec::LayoutRules& rules) {
        return plan::choose_layout(run, with_kept_peak(machine, run, kept_peak), space, rules, {},
                                   PlanningProgress{progress}.watch());
    };
}

/// Returns deck::LoadOptions::choose_homes with a progress line. `progress` must outlive it.
inline auto choose_homes_with_progress(Progress& progress) {
    return [&progress](const spec::RunSpec& run, const spec::MachineSpec& machine) {
        return plan::choose_fastest_homes(run, machine, PlanningProgress{progress}.watch());
    };
}

/// Returns deck::LoadOptions::choose_leases with a progress line. `progress` must outlive it.
inline auto choose_leases_with_progress(Progress& progress) {
    return [&progress](const spec::RunSpec& run, const spec::MachineSpec& machine) {
        return plan::holds_leases_of_a_step(run, machine, PlanningProgress{progress}.watch());
    };
}

/// Returns deck::LoadOptions::choose_accumulation with a progress line. `progress` must outlive it.
inline auto choose_accumulation_with_progress(Progress& progress) {
    return [&progress](const spec::RunSpec& run, const spec::MachineSpec& machine) {
        return plan::choose_accumulation(run, machine, PlanningProgress{progress}.watch());
    };
}

/// Returns deck::LoadOptions::choose_depths with a progress line. `progress` must outlive it.
inline auto choose_depths_with_progress(Progress& progress) {
    return [&progress](const spec::RunSpec& run, const spec::MachineSpec& machine, spec::AutoDepths open) {
        return plan::choose_depths(run, machine, open, PlanningProgress{progress}.watch());
    };
}

/// Sets what a job that trains reads and chooses, as `train` does. `progress` must outlive `load`.
inline void read_and_choose_as_train(deck::LoadOptions& load, Progress& progress) {
    load.read_source = read_source;
    load.find_train_validation_overlap = find_train_validation_overlap;
    load.choose_layout =
        choose_layout_with_progress(progress, load.machine ? KeptPeakOf{} : kept_peaks_here());
    load.choose_homes = choose_homes_with_progress(progress);
    load.choose_depths = choose_depths_with_progress(progress);
    load.choose_leases = choose_leases_with_progress(progress);
    load.choose_accumulation = choose_accumulation_with_progress(progress);
    load.choose_tensor_overlap = plan::choose_tensor_overlap;
}

}  // namespace ziggurat::app
