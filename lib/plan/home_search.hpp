/// Search for homes that are open, of one stage, by building programs and bisecting.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "plan/footprint.hpp"
#include "plan/ops_budget.hpp"
#include "plan/plan_run.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Least that has to leave the device, and of it the least that has to leave the host, with which budgets
/// hold the run. What is open leaves piece by piece, in the order that choose_homes() gives.
///
/// `spec`, `machine` and `budget` outlive it.
class HomeSearch {
  public:
    /// \param stage  the one that alone is planned for
    HomeSearch(const spec::RunSpec& spec,
               const spec::MachineSpec& machine,
               const OpsBudget& budget,
               std::optional<int> stage = {});

    /// `spec` with the homes that are enough, nothing open any more; where nothing is, with as much away as
    /// can be. Where no home is open, it only looks.
    spec::RunSpec run();

    /// Of what run() chose.
    const Footprint& found() const { return found_; }

    /// Whether the device holds what is left there when all that can go is on the host.
    bool device_can_hold() const;

    /// The same when only what leaves before activations is on the host.
    bool device_can_keep_activations() const;

  private:
    /// A kind whose home is open: which, and in how many pieces it can be divided.
    struct OpenHome {
        spec::Home spec::Tiers::*home;
        spec::Home spec::StageState::*of_stage;
        bool spec::OpenHomes::*is_open;
        std::int64_t pieces = 1;
    };

    /// Those that are open, in the order in which they leave, in pieces as a rank of `stage` has them.
    static std::vector<OpenHome> open_kinds(const spec::RunSpec& spec, int stage);

    std::int64_t least(std::int64_t most, const std::function<bool(std::int64_t)>& fits) const;
    std::int64_t resolution() const;
    void make_room_for_all(bool has_nvme);
    spec::RunSpec with(std::int64_t away, std::int64_t far) const;
    Footprint footprint(std::int64_t away, std::int64_t far, PlannedRanks which = PlannedRanks::first) const;

    const spec::RunSpec& spec_;
    const spec::MachineSpec& machine_;
    const OpsBudget& budget_;
    std::optional<int> stage_;
    std::vector<OpenHome> kinds_;
    std::int64_t all_ = 0;
    std::int64_t resolution_ = 1;  ///< pieces; of large programs more, so that fewer of them are tried
    std::int64_t away_ = 0;
    std::int64_t on_nvme_ = 0;
    Footprint found_;
};

}  // namespace ziggurat::plan
