/// `ziggurat check`: complains about a deck, or says what it means.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/epochs.hpp"
#include "app/gpu_forecast.hpp"
#include "deck/load.hpp"
#include "plan/memory_report.hpp"
#include "spec/depths.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"
#include "train/save/start_outlook.hpp"

namespace ziggurat::app {

struct CheckOptions {
    std::string deck;
    std::vector<std::string> overrides;  ///< `path.to.key=value`
    /// Ranks, nodes and threads, of a machine that is known; none: as few ranks as the deck's degrees allow.
    std::function<deck::LoadOptions(deck::LoadOptions)> size_job = {};
    bool has_nccl = false;      ///< this program was built with NCCL; those of other machines are
    AttentionFacts cudnn = {};  ///< of this machine; on others it is assumed
    std::string machine;        ///< name or file; empty: this machine
    /// The best FLOP/s of a rank that trainings have seen on this machine; 0: none is known.
    std::function<double(const spec::RunSpec&)> kept_peak = {};
    bool print = false;   ///< the effective deck, and nothing else, on standard output
    bool json = false;    ///< all answers as one JSON object, and nothing else
    std::string explain;  ///< a key to explain; then the deck is not read
    /// Homes that the deck leaves open; none: they stay so.
    std::function<spec::RunSpec(const spec::RunSpec&, const spec::MachineSpec&)> choose_homes;
    /// Depths that the deck leaves open; none: as deck::LoadOptions has it.
    std::function<spec::Depths(const spec::RunSpec&, const spec::MachineSpec&, spec::OpenDepths)>
        choose_depths = {};
    /// Leases that the deck leaves open; none: as deck::LoadOptions has it.
    std::function<bool(const spec::RunSpec&, const spec::MachineSpec&)> choose_leases = {};
    /// What the run would begin with, and news of it; errors as of training. None: nobody asks.
    std::function<train::StartOutlook(const deck::LoadedDeck&)> start = {};
    /// None: no memory table.
    std::function<plan::MemoryReport(const spec::RunSpec&, const spec::MachineSpec&)> memory;
};

/// Prints problems on standard error and the meaning of the deck on standard output.
/// Gives 0; 2 for a deck with errors; 3 for one that does not fit its budgets; that of `train` for a
/// checkpoint that it would refuse. Starts nothing.
int run_check(const CheckOptions& options);

/// Model, parameters, batch arithmetic and layout of a run, in a few lines.
std::string summary(const spec::RunSpec& run, const Epochs& epochs = {});

}  // namespace ziggurat::app
