/// Resolution of values to a RunSpec: presets, autos, words and shares become numbers.
#pragma once

#include <optional>
#include <string>

#include "deck/load_options.hpp"
#include "deck/messages/diagnostics.hpp"
#include "deck/values/values.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::deck {

/// The state that the resolvers of the deck's sections share. Each fills its part of `run` from `values` and
/// resolves the autos in `values`, whose text becomes the effective deck.
struct Resolution {
    Values& values;
    spec::RunSpec& run;
    const LoadOptions& options;
    spec::MachineSpec& machine;
    Diagnostics& found;
    std::int64_t tokenizer_vocab = 0;              ///< of the tokenizer's ids; 0: not known
    std::optional<TokenizerFacts> tokenizer = {};  ///< of the tokenizer's file; nothing: it was not read
    std::string resumed_root = {};                 ///< as deck::resumed_root() has it, after resolve_run()
    std::string time_limit_source = "run.time_limit";  ///< who says when the run ends

    /// False, after a complaint, when the deck does not say `path`; `why` says what it is needed for.
    bool require(const std::string& path, const std::string& why) const;

    /// Resolves the auto at `path` to `number`.
    void set_resolved_integer(const std::string& path, std::int64_t number, const std::string& why) const;

    /// Keeps a default that nothing reads out of the effective deck.
    void erase_default(const std::string& path) const;

    /// The length of training at `path` in steps; of tokens, rounded up. After train and data.
    std::int64_t steps_of(const std::string& path) const;

    bool is_auto(const std::string& path) const { return values.is_word(path, "auto"); }
};

/// Fills `run`, section by section, in the order that dependencies ask for.
void resolve(Resolution& resolution);

// Each section of the deck has a file of that name: resolve_tiers.cpp.
void resolve_run(Resolution& resolution);
void resolve_tokenizer(Resolution& resolution);  // of data, before the model, whose vocabulary it may give
void resolve_model(Resolution& resolution);
void resolve_data(Resolution& resolution);
void resolve_parallel(Resolution& resolution);
void resolve_train(Resolution& resolution);
void resolve_validate(Resolution& resolution);
void resolve_checkpoint(Resolution& resolution);
void resolve_logging(Resolution& resolution);
void resolve_sharding(Resolution& resolution);
void resolve_tiers(Resolution& resolution);
void resolve_transport(Resolution& resolution);  // of parallel, once it is known what computes
void resolve_precision(Resolution& resolution);
void resolve_recompute(Resolution& resolution);
void resolve_overlap(Resolution& resolution);
void resolve_debug(Resolution& resolution);
void resolve_optimizer(Resolution& resolution);
void resolve_schedule(Resolution& resolution);

/// RecomputeKind that a deck's word stands for; `none` for auto.
spec::RecomputeKind recompute_kind(const std::string& word);

/// Recomputation and homes that stages have of their own, or that are open in a pipeline. After tiers and
/// recompute.
void resolve_stages(Resolution& resolution);

/// Writes parallel.pipeline.each as the run has it, after homes and recomputation have been chosen.
void resolve_chosen_stages(Resolution& resolution);

/// Spreads layers over stages where parallel.pipeline.each is auto. After the rules.
void resolve_open_stages(Resolution& resolution);

/// Asks for the homes and the recomputation that are open and resolves them. After the rules: a program is
/// built of the run.
void resolve_open_homes(Resolution& resolution);

/// Resolves sharding.leases where it is auto, when homes are known.
void resolve_open_leases(Resolution& resolution);

/// Asks for the depths that are open and resolves them, when homes are known. What it says is
/// LoadedDeck::depths.
std::string resolve_depths(Resolution& resolution);

/// Consecutive data ranks that share a node, or one of debug.nodes.
int data_ranks_per_node(const Resolution& resolution);

}  // namespace ziggurat::deck
