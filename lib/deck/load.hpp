/// The way into this module: a deck's text becomes a checked RunSpec.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "deck/compose.hpp"
#include "deck/diagnostics.hpp"
#include "deck/job_end.hpp"
#include "spec/depths.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::deck {

/// What the deck does not say: where the run takes place.
struct LoadOptions {
    int ranks = 0;                                  ///< 0: as few as the deck's degrees allow
    int ranks_per_node = 0;                         ///< 0: as the machine has, at most all of them
    int threads = 0;                                ///< per rank; 0: an equal part of the node's cores
    std::optional<spec::MachineSpec> machine = {};  ///< none: this one
    bool for_plan = false;  ///< takes what can be planned although it cannot be run yet
    /// Token files and checkpoints that are missing are errors; else notes, as for a plan, which reads none.
    bool needs_data = true;
    /// The deck of a run that was: what it says is wanted, and no rule asks whether it could run here and now
    /// (its data may be elsewhere).
    bool as_record = false;
    /// Asked when run.time_limit is auto; without it there is no job that ends.
    std::function<std::optional<JobEnd>()> job_end = {};
    /// Asked, of a deck without errors, for the homes that it leaves open; without it they stay so.
    std::function<spec::RunSpec(const spec::RunSpec&, const spec::MachineSpec&)> choose_homes = {};
    /// Asked, of a deck without errors whose homes are known, how far ahead and in what pieces state moves;
    /// without it one segment ahead, and in pieces of 16 MiB.
    std::function<spec::Depths(const spec::RunSpec&, const spec::MachineSpec&, spec::OpenDepths)>
        choose_depths = {};
    Environment environment = process_environment;
};

/// A deck after loading. `run` and `effective` mean something only when `ok()`.
struct Loaded {
    spec::RunSpec run;
    spec::MachineSpec machine;  ///< the one that budgets are shares of
    Diagnostics found;
    std::string effective;  ///< a deck that gives the same run without includes, variables or autos
    /// The same for the other ranks of the job: tiers.nvme.paths are each node's own, so what they take from
    /// the environment is left to theirs, or else as in this one.
    std::string effective_elsewhere;
    std::string depths;  ///< why state moves as it does, in a line; empty where all is on the device

    bool ok() const { return found.ok(); }
};

/// Reads, resolves and checks the deck at `path`, with overrides `path.to.key=value`. Every problem is in
/// `found`; nothing that a deck says makes it throw.
/// Collective: local. On several ranks, rank 0 loads and the others load its `effective_elsewhere`.
Loaded load(const std::string& path, const std::vector<std::string>& overrides, const LoadOptions& options);

/// The same for a deck that is already in memory; `name` stands for its file in messages.
Loaded load_text(const std::string& text,
                 const std::string& name,
                 const std::vector<std::string>& overrides,
                 const LoadOptions& options);

}  // namespace ziggurat::deck
