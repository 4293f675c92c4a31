/// Implementation of `ziggurat check`: reports errors of a deck, or its meaning.
#pragma once

#include <functional>
#include <string>

#include "app/bench/kept_peak.hpp"
#include "app/deck/deck_options.hpp"
#include "app/deck/epochs.hpp"
#include "app/deck/gpu_forecast.hpp"
#include "deck/load.hpp"
#include "plan/report/memory_report.hpp"
#include "spec/accumulation_choice.hpp"
#include "spec/depths.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"
#include "spec/tensor_overlap_choice.hpp"
#include "train/resume/start_preview.hpp"

namespace ziggurat::app {

/// Parts of `check` that depend on this machine and on how the program was built.
struct CheckParts {
    /// Sets ranks, nodes and threads for the machine. If empty: as few ranks as the degrees allow.
    std::function<deck::LoadOptions(deck::LoadOptions)> size_job = {};
    bool has_nccl = false;      ///< true if this program was built with NCCL; assumed for other machines
    AttentionFacts cudnn = {};  ///< cuDNN of this machine; assumed for other machines
    KeptPeakOf kept_peak = {};  ///< of this machine; if empty, only rates of the machine file are known
    /// Chooses the settings of the layout that the deck leaves `auto`. If empty: open degrees are 1.
    std::function<spec::ChosenLayouts(
        const spec::RunSpec&, const spec::MachineSpec&, const spec::LayoutSpace&, const spec::LayoutRules&)>
        choose_layout = {};
    /// Chooses the homes that the deck leaves `auto`. If empty: they stay open.
    std::function<spec::RunSpec(const spec::RunSpec&, const spec::MachineSpec&)> choose_homes = {};
    /// Chooses the depths that the deck leaves `auto`. If empty: as for deck::LoadOptions.
    std::function<spec::Depths(const spec::RunSpec&, const spec::MachineSpec&, spec::AutoDepths)>
        choose_depths = {};
    /// Chooses the leases that the deck leaves `auto`. If empty: as for deck::LoadOptions.
    std::function<bool(const spec::RunSpec&, const spec::MachineSpec&)> choose_leases = {};
    /// Chooses the order of micro-batches that the deck leaves `auto`. If empty: as for deck::LoadOptions.
    std::function<spec::AccumulationChoice(const spec::RunSpec&, const spec::MachineSpec&)>
        choose_accumulation = {};
    /// Chooses pieces of tensor collectives if the deck has `auto`. If empty: as for deck::LoadOptions.
    std::function<spec::TensorOverlapChoice(const spec::RunSpec&, const spec::MachineSpec&)>
        choose_tensor_overlap = {};
    /// Returns the start of the run with its notes; errors as of training. If empty: not reported.
    std::function<train::StartPreview(const deck::LoadedDeck&)> start = {};
    /// Returns the memory report of a deck, and of changes of it. If empty: no memory table.
    std::function<plan::MemoryReport(const deck::LoadedDeck&, const deck::LoadOptions&)> memory = {};
};

/// Prints problems on standard error and the meaning of the deck on standard output.
/// Starts no training.
///
/// Returns 0; 2 for a deck with errors; 3 for a deck that does not fit its budgets; the exit code of `train`
/// for a checkpoint that it would refuse.
int run_check(const CheckOptions& options, const CheckParts& parts);

/// Returns model, parameters, batch arithmetic and layout of a run, as a few lines of text.
std::string summary(const spec::RunSpec& run, const Epochs& epochs = {});

}  // namespace ziggurat::app
