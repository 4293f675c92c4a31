#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "deck/rules/rules.hpp"
#include "layout/tensors.hpp"
#include "spec/tile_rules.hpp"

namespace ziggurat::deck {
namespace {

void tile_rules_fit_weights(const Resolution& at) {
    const auto tensors = layout::tensors(at.run.model);
    for (std::size_t i = 0; i < at.run.tiers.tiles.size(); ++i) {
        const auto& match = at.run.tiers.tiles[i].match;
        const bool fits = std::any_of(tensors.begin(), tensors.end(), [&](const layout::Tensor& tensor) {
            return spec::can_be_cut(tensor.name) && spec::names_tensor(match, tensor.name);
        });
        if (!fits) {
            at.found.error(at.values.location(fmt::format("tiers.tile[{}].match", i)),
                           fmt::format("tiers.tile: '{}' matches no weight of the model", match),
                           "a rule names weights of products, such as mlp.down or attention.*, or "
                           "embedding.token",
                           "Check the spelling, or remove the rule.");
        }
    }
}

void tiles_lie_along_outputs(const Resolution& at) {
    for (std::size_t i = 0; i < at.run.tiers.tiles.size(); ++i) {
        const auto& rule = at.run.tiers.tiles[i];
        if (rule.in > 1) {
            at.found.error(at.values.location(fmt::format("tiers.tile[{}].in", i)),
                           fmt::format("tiers.tile: '{}' has {} tiles along its inputs", rule.match, rule.in),
                           "only tiles along the outputs are implemented", "Use out instead.");
        }
    }
}

/// Checks that no tile rule splits a tied table in a pipeline. The first matching rule applies.
void tied_tables_of_pipelines_stay_whole(const Resolution& at) {
    if (!spec::is_table_whole(at.run)) {
        return;
    }
    const auto& tiles = at.run.tiers.tiles;
    const auto rule = std::find_if(tiles.begin(), tiles.end(), [](const spec::TileRule& r) {
        return spec::names_tensor(r.match, "embedding.token");
    });
    if (rule != tiles.end()) {
        at.found.error(
            at.values.location(fmt::format("tiers.tile[{}].match", rule - tiles.begin())),
            fmt::format("tiers.tile: '{}' splits the tied table of a pipeline", rule->match),
            "the first and the last stage complete its gradient as a whole",
            "Name only weights of layers, such as 'layers.*', or set model.tie_embeddings: false.");
    }
}

void tiles_have_no_second_copy(const Resolution& at) {
    if (!at.run.tiers.tiles.empty() && at.run.sharding.secondary > 0) {
        at.found.error(at.values.location("tiers.tile"), "tiers.tile together with sharding.secondary",
                       "a second copy is kept of whole units", "Leave one of them out.");
    }
}

constexpr std::array rules = {
    Rule{tile_rules_fit_weights, "tiers.tile model"},
    Rule{tiles_lie_along_outputs, "tiers.tile"},
    Rule{tied_tables_of_pipelines_stay_whole, "tiers.tile model parallel.pipeline.stages"},
    Rule{tiles_have_no_second_copy, "tiers.tile sharding.secondary"},
};

}  // namespace

std::span<const Rule> tile_rules() {
    return rules;
}

}  // namespace ziggurat::deck
