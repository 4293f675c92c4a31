/// Entry point of this folder: loads a deck's text to a checked RunSpec.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/text/secret.hpp"
#include "deck/load_options.hpp"
#include "deck/messages/diagnostics.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::deck {

/// Result of loading a deck. `run` and `effective` are valid only if `ok()`.
struct LoadedDeck {
    spec::RunSpec run;
    spec::MachineSpec machine;  ///< the machine on which shares in budgets are based
    /// True if its device_flops is the best rate that trainings reached: planned times are lower bounds.
    bool has_kept_peak = false;
    Diagnostics found;
    /// Equivalent deck without includes, autos or variables, except variables for secrets (is_secret()).
    std::string effective;
    std::vector<Secret> secrets;  ///< secrets of the environment that the deck uses
    /// The same deck for the other ranks of the job, with the values of secrets; never written to a file.
    ///
    /// tiers.nvme.paths differ per node: their environment variables are kept, with the values of this rank
    /// as defaults.
    std::string effective_for_other_folder;
    std::string time_limit_source = "run.time_limit";  ///< or, for auto, `the end of Slurm job 812331`
    bool sets_threads = false;  ///< true if a user has set parallel.threads to a number
    bool reports_of_record =
        false;          ///< true if notes list differences from the recorded run (run_record.hpp)
    int sum_group = 0;  ///< number that the deck sets for sharding.sum_group; 0: a keyword
    spec::LayoutRules layout_rules = {};  ///< of other layouts; set if LoadOptions::keeps_layout_rules
    std::string depths;  ///< one line with the reasons for transfer depths; empty if all is on the device

    bool ok() const { return found.ok(); }
};

/// Loads the deck at `path`, or that of the run in the folder `path`, and applies overrides.
///
/// Reads, resolves and checks it. All problems are in `found`; invalid decks never cause an exception.
/// Collective: local. On several ranks, rank 0 loads the deck, and the others load its
/// `effective_for_other_folder`.
LoadedDeck load(const std::string& path,
                const std::vector<std::string>& overrides,
                const LoadOptions& options);

/// Returns run.hang_timeout of the deck that load() would read; nullopt if it cannot be read.
///
/// Cheap, so that each rank can call it before MPI starts. Problems are not reported: load() reports them.
std::optional<double> read_hang_timeout(const std::string& path,
                                        const std::vector<std::string>& overrides,
                                        const Environment& environment);

/// Loads a deck from memory; `name` is its file name in messages.
LoadedDeck load_text(const std::string& text,
                     const std::string& name,
                     const std::vector<std::string>& overrides,
                     const LoadOptions& options);

}  // namespace ziggurat::deck
