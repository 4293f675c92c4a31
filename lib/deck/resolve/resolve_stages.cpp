#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "deck/resolve/resolve.hpp"
#include "deck/schema/schema.hpp"
#include "deck/values/reader.hpp"
#include "layout/stage_layers.hpp"
#include "spec/depths.hpp"
#include "spec/home_text.hpp"
#include "spec/recompute_text.hpp"
#include "spec/stage_state.hpp"
#include "spec/virtual_stages.hpp"

namespace ziggurat::deck {
namespace {

using spec::StageState;

constexpr const char* each = "parallel.pipeline.each";

/// A kind of state with a home, and its names in decks and specs.
struct HomeKey {
    const char* name;
    spec::Home StageState::*home;
    bool spec::AutoHomes::*is_auto;
};

constexpr std::array home_keys{
    HomeKey{"parameters", &StageState::parameters, &spec::AutoHomes::parameters},
    HomeKey{"gradients", &StageState::gradients, &spec::AutoHomes::gradients},
    HomeKey{"optimizer", &StageState::optimizer, &spec::AutoHomes::optimizer},
    HomeKey{"activations", &StageState::activations, &spec::AutoHomes::activations}};

/// Returns the state of an entry; settings that it lacks are those for all stages.
StageState state_of_entry(const Values& values, const std::string& entry, const StageState& general) {
    auto state = general;
    auto& recompute = state.recompute;
    if (const auto keyword = values.keyword(entry + ".recompute.kind"); !keyword.empty()) {
        recompute.kind = recompute_kind(keyword);
        recompute.is_auto = keyword == "auto";
    }
    const bool is_full = recompute.kind == spec::RecomputeKind::full;
    recompute.every = values.has(entry + ".recompute.every")
                          ? static_cast<int>(values.integer(entry + ".recompute.every"))
                      : is_full || recompute.is_auto ? recompute.every
                                                     : 1;
    for (const auto& key : home_keys) {
        const auto path = entry + ".home." + key.name;
        const auto* value = values.find(path);
        if (value == nullptr) {
            continue;
        }
        const auto* home = std::get_if<spec::Home>(&value->data);
        state.open.*key.is_auto = home == nullptr;
        state.*key.home = home == nullptr ? spec::Home{} : *home;
    }
    return state;
}

/// Returns the layers of a stage: a number, or a list with one number per chunk.
std::string layers_text(const spec::RunSpec& run, int stage) {
    const auto all = layout::stage_layers(run);
    std::vector<std::int64_t> layers;
    for (int chunk = 0; chunk < run.parallel.chunks_per_stage; ++chunk) {
        layers.push_back(all[spec::virtual_stage(stage, chunk, run.parallel)]);
    }
    return layers.size() == 1 ? fmt::format("{}", layers.front())
                              : fmt::format("[{}]", fmt::join(layers, ", "));
}

/// Returns the settings in which `state` differs from `general`, each after a comma.
///
/// With chunks, homes of parameters, gradients and optimizer are auto in every deck.
std::string own_text(const StageState& state, const StageState& general, spec::Movement movement) {
    std::string text;
    const auto& recompute = state.recompute;
    if (recompute.kind != general.recompute.kind || recompute.every != general.recompute.every) {
        text += fmt::format(", recompute: {{kind: {}, every: {}}}", spec::keyword_of(recompute.kind),
                            recompute.every);
    }
    std::vector<std::string> homes;
    for (const auto& key : home_keys) {
        const bool can_be_written = movement == spec::Movement::fixed || key.home == &StageState::activations;
        if (can_be_written && state.*key.home != general.*key.home) {
            homes.push_back(fmt::format("{}: {}", key.name, spec::write_home(state.*key.home)));
        }
    }
    return homes.empty() ? text : text + fmt::format(", home: {{{}}}", fmt::join(homes, ", "));
}

void write_stages(Resolution& resolution, const std::string& reason) {
    const spec::RunSpec& run = resolution.run;
    const auto general = spec::general_state(run);
    std::vector<std::string> entries;
    for (int stage = 0; stage < run.parallel.stages; ++stage) {
        const auto own =
            run.stages.empty() ? std::string{} : own_text(run.stages[stage], general, run.tiers.movement);
        entries.push_back(fmt::format("{{layers: {}{}}}", layers_text(run, stage), own));
    }
    resolution.values.set_count(each, 0);
    resolution.values.set_resolved(each, {}, fmt::format("[{}]", fmt::join(entries, ", ")), reason);
}

/// Sets the chosen values of one entry of the deck's list; keys with values of the deck keep them.
void write_entry(Resolution& resolution,
                 const std::string& entry,
                 const StageState& state,
                 const StageState& general,
                 const std::string& reason) {
    auto& values = resolution.values;
    const auto& recompute = state.recompute;
    const auto kind = entry + ".recompute.kind";
    const bool differs = recompute.kind != general.recompute.kind;
    if (resolution.is_auto(kind) || (differs && !values.has(kind))) {
        values.set_resolved_keyword(kind, spec::keyword_of(recompute.kind), reason);
    }
    const auto every = entry + ".recompute.every";
    const bool has_other = recompute.kind == spec::RecomputeKind::full &&
                           (differs || recompute.every != general.recompute.every);
    const bool is_same = values.has(every) && values.integer(every) == recompute.every;
    if ((values.has(every) || has_other) && !is_same) {
        resolution.set_resolved_integer(every, recompute.every, reason);
    }
    for (const auto& key : home_keys) {
        const auto path = fmt::format("{}.home.{}", entry, key.name);
        const auto& home = state.*key.home;
        const bool can_be_written =
            resolution.run.tiers.movement == spec::Movement::fixed || key.home == &StageState::activations;
        const bool is_other = home != general.*key.home && !values.has(path);
        if (can_be_written && (resolution.is_auto(path) || is_other)) {
            values.set_resolved(path, home, spec::write_home(home), reason);
        }
    }
}

/// Clears RunSpec::stages if all stages have the general state and no setting is open.
///
/// Otherwise `split` of each stage follows the general one, and applies only to full recomputation.
void close_stages_equally(spec::RunSpec& run) {
    const auto general = spec::general_state(run);
    for (auto& state : run.stages) {
        state.recompute.split = general.recompute.split;
    }
    const bool has_auto = spec::has_auto_home(run) || spec::has_auto_recomputation(run);
    if (!has_auto && std::ranges::all_of(run.stages, [&](const auto& state) { return state == general; })) {
        run.stages.clear();
        return;
    }
    for (auto& state : run.stages) {
        state.recompute.split = general.recompute.split && state.recompute.kind == spec::RecomputeKind::full;
    }
}

}  // namespace

spec::RecomputeKind recompute_kind(const std::string& keyword) {
    return keyword == "selective" ? spec::RecomputeKind::selective
           : keyword == "full"    ? spec::RecomputeKind::full
                                  : spec::RecomputeKind::none;
}

void resolve_stages(Resolution& resolution) {
    spec::RunSpec& run = resolution.run;
    const auto general = spec::general_state(run);
    const int stages = run.parallel.stages;
    const auto count = resolution.values.count(each);
    const bool is_general_auto = general.open.any() || general.recompute.is_auto;
    if (count != stages && (count > 0 || stages == 1 || !is_general_auto)) {
        return;
    }
    for (int stage = 0; stage < stages; ++stage) {
        const auto entry = fmt::format("{}[{}]", each, stage);
        run.stages.push_back(state_of_entry(resolution.values, entry, general));
    }
    close_stages_equally(run);
}

void resolve_auto_stages(Resolution& resolution) {
    spec::RunSpec& run = resolution.run;
    if (!resolution.is_auto(each)) {
        if (run.parallel.stages * run.parallel.chunks_per_stage == 1) {
            run.parallel.stage_layers.clear();  // a single stage always has all layers
        }
        return;
    }
    if (run.parallel.stages == 1) {
        resolution.erase_default(each);
        return;
    }
    run.parallel.stage_layers = layout::stage_layers(run);
    write_stages(resolution, "minimizes the time of the slowest stage");
}

void resolve_chosen_stages(Resolution& resolution) {
    for (auto& state : resolution.run.stages) {
        for (const auto& key : home_keys) {
            auto& home = state.*key.home;
            const auto& row = *deck_schema().find(fmt::format("tiers.home.{}", key.name));
            home = std::get<spec::Home>(value_of(row, spec::write_home(home)).data);  // rounded as in decks
        }
    }
    close_stages_equally(resolution.run);
    const spec::RunSpec& run = resolution.run;
    const std::string reason = "chosen within the budget of each stage";
    const auto general = spec::general_state(run);
    for (std::int64_t i = 0; i < resolution.values.count(each); ++i) {
        const auto& state = run.stages.empty() ? general : run.stages.at(static_cast<std::size_t>(i));
        write_entry(resolution, fmt::format("{}[{}]", each, i), state, general, reason);
    }
    if (run.parallel.stages > 1 && resolution.values.count(each) == 0) {
        write_stages(resolution, reason);
    }
}

}  // namespace ziggurat::deck
