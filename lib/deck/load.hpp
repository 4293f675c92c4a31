/// Entry of this module: a deck's text becomes a checked RunSpec.
#pragma once

#include <string>
#include <vector>

#include "base/secret.hpp"
#include "deck/load_options.hpp"
#include "deck/messages/diagnostics.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::deck {

/// A deck after loading. `run` and `effective` mean something only when `ok()`.
struct LoadedDeck {
    spec::RunSpec run;
    spec::MachineSpec machine;  ///< the one that budgets are shares of
    Diagnostics found;
    /// A deck that gives the same run without includes, autos or variables, but those for secrets of the
    /// environment (is_secret()), which it leaves.
    std::string effective;
    std::vector<Secret> secrets;  ///< that the deck asked the environment for
    /// The same for the other ranks of the job, with secrets, which their environment may lack: no file keeps
    /// it. tiers.nvme.paths are each node's own, so what they take from the environment is left to theirs, or
    /// else as in this one.
    std::string effective_elsewhere;
    std::string time_limit_source = "run.time_limit";  ///< or, of an auto, `the end of Slurm job 812331`
    bool sets_threads = false;     ///< parallel.threads is a number that somebody has written
    bool tells_of_record = false;  ///< notes tell what is not as a run has recorded it (run_record.hpp)
    std::string only_planned;      ///< what cannot be trained yet, of a plan: see refuse_not_built
    std::string depths;  ///< why state moves as it does, in a line; empty where all is on the device

    bool ok() const { return found.ok(); }
};

/// Reads, resolves and checks the deck at `path`, or that of the run whose folder it is, with overrides
/// `path.to.key=value`. Every problem is in `found`; nothing that a deck says makes it throw. Collective:
/// local. On several ranks, rank 0 loads and the others load its `effective_elsewhere`.
LoadedDeck load(const std::string& path,
                const std::vector<std::string>& overrides,
                const LoadOptions& options);

/// The same for a deck that is already in memory; `name` stands for its file in messages.
LoadedDeck load_text(const std::string& text,
                     const std::string& name,
                     const std::vector<std::string>& overrides,
                     const LoadOptions& options);

}  // namespace ziggurat::deck
