#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "deck/messages/nearest.hpp"
#include "deck/messages/peer_names.hpp"
#include "deck/rules/rules.hpp"
#include "layout/families/adapters.hpp"
#include "layout/families/family.hpp"
#include "spec/tensor_pattern.hpp"

namespace ziggurat::deck {
namespace {

/// Returns the weights that can have an adapter, with names for all layers: `attention.q`, `mlp.up` ...
std::set<std::string> possible_targets(const spec::Model& model) {
    const auto layer = layout::layer_unit(model, 0, {});
    std::set<std::string> names;
    for (const auto& phase : layer.phases) {
        for (const auto& use : phase.parameters) {
            const auto& parameter = layer.parameters[use.parameter];
            if (phase.kind == layout::PhaseKind::linear && parameter.role == layout::Role::weight) {
                names.emplace(layout::target_name(parameter.name));
            }
        }
    }
    return names;
}

void targets_are_weights_of_layers(const Resolution& at) {
    const auto& lora = at.run.model.lora;
    if (!lora.is_on()) {
        return;
    }
    constexpr const char* key = "train.lora.targets";
    if (lora.targets.empty()) {
        at.found.error(at.values.location(key), "train.lora.targets is an empty list",
                       "the run would train no tensor",
                       "Name weights, such as attention.q, or leave it out.");
    }
    const auto names = possible_targets(at.run.model);
    for (const auto& target : lora.targets) {
        const auto fits = [&](std::string_view pattern) {
            return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
                return spec::matches(std::string{pattern}, name);
            });
        };
        if (fits(target)) {
            continue;
        }
        const auto peers = find_peer_values(target);
        const auto peer = std::find_if(peers.begin(), peers.end(), fits);
        const auto meant =
            peer != peers.end() ? std::string{*peer} : nearest(target, {names.begin(), names.end()});
        at.found.error(
            at.values.location(key),
            fmt::format("train.lora.targets: {} matches no weight of a layer's products", in_quotes(target)),
            "adapters belong to weights of products, such as attention.q or mlp.*, in all layers",
            meant.empty() ? fmt::format("There are {}.", fmt::join(names, ", "))
                          : fmt::format("Did you mean '{}'?", meant));
    }
}

void adapters_alone_are_trained(const Resolution& at) {
    if (at.run.model.lora.is_on() && !at.values.is_keyword("train.only", "all")) {
        at.found.error(at.values.location("train.only"), "train.only together with train.lora",
                       "with adapters, all other tensors are frozen", "Leave one of them out.");
    }
}

/// Checks the rank: A is [rank, in], so above model.hidden an adapter is not smaller than its weight.
void adapters_are_of_low_rank(const Resolution& at) {
    const auto& model = at.run.model;
    if (model.lora.rank > model.hidden) {
        at.found.error(
            at.values.location("train.lora.rank"),
            fmt::format("train.lora.rank {} is above model.hidden {}", model.lora.rank, model.hidden),
            "no update of a weight has a higher rank than that", "Use a smaller rank.");
    }
}

constexpr std::array rules = {
    Rule{targets_are_weights_of_layers, "train.lora model"},
    Rule{adapters_alone_are_trained, "train.lora train.only"},
    Rule{adapters_are_of_low_rank, "train.lora model"},
};

}  // namespace

std::span<const Rule> lora_rules() {
    return rules;
}

}  // namespace ziggurat::deck
