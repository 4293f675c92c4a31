#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "deck/rules.hpp"
#include "spec/tensors.hpp"
#include "spec/tile_rules.hpp"

namespace ziggurat::deck {
namespace {

void tile_rules_fit_weights(const Resolution& at) {
    const auto tensors = spec::tensors(at.run.model);
    for (std::size_t i = 0; i < at.run.tiers.tiles.size(); ++i) {
        const auto& match = at.run.tiers.tiles[i].match;
        const bool fits = std::any_of(tensors.begin(), tensors.end(), [&](const spec::Tensor& tensor) {
            return spec::can_be_cut(tensor.name) && spec::names_tensor(match, tensor.name);
        });
        if (!fits) {
            at.found.error(at.values.place(fmt::format("tiers.tile[{}].match", i)),
                           fmt::format("tiers.tile: '{}' fits no weight of the model", match),
                           "a rule names weights of products, as mlp.down or attention.*, or embedding.token",
                           "Check the spelling, or remove the rule.");
        }
    }
}

void tiles_lie_along_outputs(const Resolution& at) {
    for (std::size_t i = 0; i < at.run.tiers.tiles.size(); ++i) {
        const auto& rule = at.run.tiers.tiles[i];
        if (rule.in > 1) {
            at.found.error(at.values.place(fmt::format("tiers.tile[{}].in", i)),
                           fmt::format("tiers.tile: '{}' has {} tiles along its inputs", rule.match, rule.in),
                           "only tiles along the outputs are built", "Use out instead.");
        }
    }
}

void tiles_have_no_second_copy(const Resolution& at) {
    if (!at.run.tiers.tiles.empty() && at.run.sharding.secondary > 0) {
        at.found.error(at.values.place("tiers.tile"), "tiers.tile together with sharding.secondary",
                       "a second copy is kept of whole units", "Leave one of them out.");
    }
}

/// Of a model with biases or a tied table, tiles are known to leave the bits alone with one kind of state
/// away from the device, not with several.
void few_homes_are_away(const Resolution& at) {
    const auto& tiers = at.run.tiers;
    const auto& model = at.run.model;
    const bool is_plain = model.family == spec::Family::llama && !model.tie_embeddings;
    const std::array homes{tiers.parameters, tiers.gradients, tiers.optimizer, tiers.activations};
    const auto away =
        std::count_if(homes.begin(), homes.end(), [](const spec::Home& home) { return home.device < 1; });
    if (!is_plain && !tiers.tiles.empty() && away > 1) {
        at.found.error(at.values.place("tiers.tile"), "tiers.tile with several kinds of state off the device",
                       "of a model with biases or a tied table, this is not built",
                       "Leave tiles out, or move one kind only.");
    }
}

constexpr std::array rules = {
    Rule{tile_rules_fit_weights, "tiers.tile model"},
    Rule{tiles_lie_along_outputs, "tiers.tile"},
    Rule{tiles_have_no_second_copy, "tiers.tile sharding.secondary"},
    Rule{few_homes_are_away, "tiers.tile tiers.home model"},
};

}  // namespace

std::span<const Rule> tile_rules() {
    return rules;
}

}  // namespace ziggurat::deck
