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

void sequence_tiles_have_rows(const Resolution& at) {
    const auto rows = at.run.train.micro_batch * at.run.data.seq / at.run.parallel.context;
    if (at.run.tiers.sequence_tiles > std::max<std::int64_t>(rows, 1)) {
        at.found.error(at.values.location("tiers.sequence_tiles"),
                       fmt::format("tiers.sequence_tiles is {}", at.run.tiers.sequence_tiles),
                       fmt::format("a micro-batch has {} tokens on a rank", rows), "Use a smaller number.");
    }
}

/// Checks that products of MLPs are divided into only one of: tiles of rows, tiles of weights, pieces.
void sequence_tiles_divide_alone(const Resolution& at) {
    const spec::Tiers& tiers = at.run.tiers;
    if (tiers.sequence_tiles == 1) {
        return;
    }
    const auto tensors = layout::tensors(at.run.model);
    const bool cuts_mlps =
        tiers.open.tiles || std::ranges::any_of(tiers.tiles, [&](const spec::TileRule& rule) {
            return rule.out > 1 && std::ranges::any_of(tensors, [&](const layout::Tensor& tensor) {
                       return tensor.name.find(".mlp.") != std::string::npos &&
                              spec::names_tensor(rule.match, tensor.name);
                   });
        });
    if (cuts_mlps) {
        at.found.error(at.values.location("tiers.sequence_tiles"),
                       "tiers.sequence_tiles together with tiers.tile of MLP weights",
                       "a product is divided either by rows or by weights",
                       "Name other weights in tiers.tile, such as attention.*, or leave one of them out.");
    }
    if (at.run.overlap.tensor_pieces) {
        at.found.error(at.values.location("tiers.sequence_tiles"),
                       "tiers.sequence_tiles together with overlap.tensor: ring",
                       "both divide the products of MLPs by rows", "Set overlap.tensor: off.");
    }
}

constexpr std::array rules = {
    Rule{tile_rules_fit_weights, "tiers.tile model"},
    Rule{tiles_lie_along_outputs, "tiers.tile"},
    Rule{tied_tables_of_pipelines_stay_whole, "tiers.tile model parallel.pipeline.stages"},
    Rule{tiles_have_no_second_copy, "tiers.tile sharding.secondary"},
    Rule{sequence_tiles_have_rows, "tiers.sequence_tiles train.micro_batch data.seq parallel.context.degree"},
    Rule{sequence_tiles_divide_alone, "tiers.sequence_tiles tiers.tile overlap.tensor model"},
};

}  // namespace

std::span<const Rule> tile_rules() {
    return rules;
}

}  // namespace ziggurat::deck
