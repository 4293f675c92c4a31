/// Resolution of values to a RunSpec: presets, autos, keywords and shares become numbers.
#pragma once

#include <optional>
#include <string>

#include "deck/load_options.hpp"
#include "deck/messages/diagnostics.hpp"
#include "deck/values/values.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::deck {

/// State shared by the resolvers of the deck's sections.
///
/// Each resolver fills its part of `run` from `values`, and resolves the autos in `values`; the effective
/// deck is written from them.
struct Resolution {
    Values& values;
    spec::RunSpec& run;
    const LoadOptions& options;
    spec::MachineSpec& machine;
    Diagnostics& found;
    std::int64_t tokenizer_vocab = 0;              ///< number of token ids; 0: unknown
    std::optional<TokenizerFacts> tokenizer = {};  ///< from the tokenizer's file; nullopt: it was not read
    std::string resumed_root = {};                 ///< deck::resumed_root(), set by resolve_run()
    std::string time_limit_source = "run.time_limit";  ///< source of the run's time limit

    /// Returns false, after an error, if the deck does not set `path`. `reason` is the reason for needing it.
    bool require(const std::string& path, const std::string& reason) const;

    /// Resolves auto at `path` to `number`.
    void set_resolved_integer(const std::string& path, std::int64_t number, const std::string& reason) const;

    /// Removes an unused default from the effective deck.
    void erase_default(const std::string& path) const;

    /// Returns the length of training at `path` in steps; tokens are rounded up. Call after train and data.
    std::int64_t steps_of(const std::string& path) const;

    bool is_auto(const std::string& path) const { return values.is_keyword(path, "auto"); }
};

/// Fills `run` section by section, in the order of their dependencies.
void resolve(Resolution& resolution);

// Each section of the deck has a file of its name: resolve_tiers.cpp.
void resolve_run(Resolution& resolution);
void resolve_tokenizer(Resolution& resolution);  // of data; before the model, whose vocabulary may follow it
void resolve_model(Resolution& resolution);
void resolve_data(Resolution& resolution);
void resolve_parallel(Resolution& resolution);
void resolve_train(Resolution& resolution);
void resolve_validate(Resolution& resolution);
void resolve_checkpoint(Resolution& resolution);
void resolve_logging(Resolution& resolution);
void resolve_sharding(Resolution& resolution);
void resolve_tiers(Resolution& resolution);
void resolve_transport(Resolution& resolution);  // of parallel; after the device is known
void resolve_precision(Resolution& resolution);
void resolve_recompute(Resolution& resolution);
/// True if recompute.fates: auto leaves the fate of each activation to the planner.
bool chooses_fates(const Resolution& resolution);
/// Resets recompute.every where recomputation that was chosen is not full: decks cannot have it there.
void close_spacing(Resolution& resolution);
void resolve_overlap(Resolution& resolution);
void resolve_debug(Resolution& resolution);
void resolve_optimizer(Resolution& resolution);
void resolve_schedule(Resolution& resolution);

/// Returns the RecomputeKind of a keyword; `none` for auto.
spec::RecomputeKind recompute_kind(const std::string& keyword);

/// Resolves recomputation and homes that are set per stage, or that are open in a pipeline.
///
/// Call after tiers and recompute.
void resolve_stages(Resolution& resolution);

/// Updates parallel.pipeline.each from the run, after homes and recomputation have been chosen.
void resolve_chosen_stages(Resolution& resolution);

/// Distributes layers over stages if parallel.pipeline.each is auto. Call after the rules.
void resolve_auto_stages(Resolution& resolution);

/// Chooses open homes and recomputation.
///
/// Call after the rules, because it builds a program of the run.
void resolve_auto_homes(Resolution& resolution);

/// Resolves sharding.leases if it is auto; homes must be known.
void resolve_auto_leases(Resolution& resolution);

/// Resolves train.accumulate if it is auto; homes must be known.
void resolve_auto_accumulation(Resolution& resolution);

/// Resolves overlap.tensor if it is auto; homes must be known.
void resolve_auto_tensor_overlap(Resolution& resolution);

/// Chooses open depths; homes must be known. Returns LoadedDeck::depths.
std::string resolve_depths(Resolution& resolution);

/// Returns the number of consecutive data ranks on one node, or on one of debug.nodes.
int data_ranks_per_node(const Resolution& resolution);

}  // namespace ziggurat::deck
