/// From values to a RunSpec: presets, autos, words and shares become numbers.
#pragma once

#include <string>

#include "deck/load_options.hpp"
#include "deck/messages/diagnostics.hpp"
#include "deck/values/values.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::deck {

/// What the resolvers of the deck's sections share. Each fills its part of `run` from `values` and resolves
/// the autos in `values`, whose text becomes the effective deck.
struct Resolution {
    Values& values;
    spec::RunSpec& run;
    const LoadOptions& options;
    spec::MachineSpec& machine;
    Diagnostics& found;

    /// False, after a complaint, when the deck does not say `path`; `why` says what it is needed for.
    bool require(const std::string& path, const std::string& why) const;

    /// Resolves the auto at `path` to `number`.
    void set_resolved_integer(const std::string& path, std::int64_t number, const std::string& why) const;

    bool is_auto(const std::string& path) const { return values.is_word(path, "auto"); }
};

/// Fills `run` in the order that dependencies ask for: model, ranks, batch, sharding, memory, numerics.
void resolve(Resolution& resolution);

void resolve_run(Resolution& resolution);
void resolve_model(Resolution& resolution);
void resolve_data(Resolution& resolution);
void resolve_parallel(Resolution& resolution);
void resolve_batch(Resolution& resolution);
void resolve_sharding(Resolution& resolution);
void resolve_tiers(Resolution& resolution);
void resolve_numerics(Resolution& resolution);

/// Asks for the homes that are open and resolves them. After the rules: a program is built of the run.
void resolve_open_homes(Resolution& resolution);

/// Asks for the depths that are open and resolves them, when homes are known. What it says is Loaded::depths.
std::string resolve_depths(Resolution& resolution);

/// Consecutive data ranks that share a node, or one of debug.nodes.
int data_ranks_per_node(const Resolution& resolution);

}  // namespace ziggurat::deck
