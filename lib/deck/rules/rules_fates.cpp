#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "deck/messages/nearest.hpp"
#include "deck/rules/rules.hpp"
#include "layout/families/activations.hpp"
#include "spec/fates.hpp"
#include "spec/tensor_pattern.hpp"
#include "spec/tile_rules.hpp"

namespace ziggurat::deck {
namespace {

using layout::Activation;
using spec::ActivationFate;

constexpr const char* fates_key = "recompute.fates";

std::string rule_key(std::size_t rule, const char* key) {
    return fmt::format("{}[{}].{}", fates_key, rule, key);
}

layout::FamilyTable table_of(const spec::RunSpec& run) {
    auto table = layout::family_table(run.model, {});  // names do not depend on axes
    for (auto& unit : table.units) {
        for (auto& parameter : unit.parameters) {
            parameter.is_trained = spec::is_trained(run.train, parameter.name);
        }
    }
    return table;
}

/// Returns the names of activations, each one time for all layers.
std::vector<std::string> names_of_all_layers(const std::vector<Activation>& activations) {
    std::vector<std::string> names;
    for (const auto& activation : activations) {
        const auto name = spec::name_in_layer(activation.name);
        if (std::ranges::find(names, name) == names.end()) {
            names.push_back(name);
        }
    }
    return names;
}

bool is_value_of_a_unit(const layout::FamilyTable& table, const std::string& pattern) {
    return std::ranges::any_of(table.units, [&](const layout::Unit& unit) {
        for (int value = 0; value < std::ssize(unit.values); ++value) {
            if (spec::names_tensor(pattern, layout::activation_name(unit, value))) {
                return true;
            }
        }
        return false;
    });
}

/// Reports a rule without activations.
void report_empty_rule(const Resolution& at,
                       std::size_t rule,
                       const layout::FamilyTable& table,
                       const std::vector<Activation>& activations) {
    const auto& match = at.run.recompute.fates[rule].match;
    const auto names = names_of_all_layers(activations);
    if (is_value_of_a_unit(table, match)) {
        at.found.error(
            at.values.location(rule_key(rule, "match")),
            fmt::format("recompute.fates: '{}' matches no activation with a choice of fates", match),
            "backward does not read these values after another unit has run",
            fmt::format("Remove the rule, or name others of {}.", fmt::join(names, ", ")));
        return;
    }
    const auto meant = nearest(spec::name_in_layer(match), {names.begin(), names.end()});
    at.found.error(at.values.location(rule_key(rule, "match")),
                   fmt::format("recompute.fates: '{}' matches no activation of the model", match),
                   "a pattern must match the whole name, with or without layers.N; * matches any text",
                   meant.empty() ? fmt::format("There are {}.", fmt::join(names, ", "))
                                 : fmt::format("Did you mean '{}'?", meant));
}

/// Matches of one rule.
struct RuleMatches {
    bool is_any = false;
    bool is_first_of_any = false;            ///< no earlier rule matches the activation
    const Activation* not_redone = nullptr;  ///< of those, one that cannot be recomputed
};

std::vector<RuleMatches> matches_of_rules(const std::vector<spec::FateRule>& rules,
                                          const std::vector<Activation>& activations) {
    std::vector<RuleMatches> found(rules.size());
    for (const auto& activation : activations) {
        bool is_taken = false;
        for (std::size_t r = 0; r < rules.size(); ++r) {
            if (!spec::names_tensor(rules[r].match, activation.name)) {
                continue;
            }
            auto& of_rule = found[r];
            of_rule.is_any = true;
            of_rule.is_first_of_any = of_rule.is_first_of_any || !is_taken;
            if (!is_taken && !activation.is_recomputable && of_rule.not_redone == nullptr) {
                of_rule.not_redone = &activation;
            }
            is_taken = true;
        }
    }
    return found;
}

/// Checks that each rule gives some activations their fate, and that they can have it.
void rules_fit_activations(const Resolution& at) {
    const auto& rules = at.run.recompute.fates;
    if (rules.empty()) {
        return;
    }
    const auto table = table_of(at.run);
    const auto activations = layout::activations_of(table);
    const auto found = matches_of_rules(rules, activations);
    for (std::size_t r = 0; r < rules.size(); ++r) {
        if (!found[r].is_any) {
            report_empty_rule(at, r, table, activations);
        } else if (!found[r].is_first_of_any) {
            at.found.warning(at.values.location(rule_key(r, "match")),
                             fmt::format("recompute.fates: '{}' has no effect", rules[r].match),
                             "earlier rules match all its activations", "Remove it, or move it up.");
        } else if (rules[r].fate == ActivationFate::recompute && found[r].not_redone != nullptr) {
            const auto name = spec::name_in_layer(found[r].not_redone->name);
            at.found.error(
                at.values.location(rule_key(r, "fate")),
                fmt::format("recompute.fates: '{}' cannot be recomputed", name),
                "it is the input of a layer, from which that layer recomputes",
                fmt::format("Write a rule for it before this one, such as {{match: {}, fate: keep}}.", name));
        }
    }
}

void fates_on_nvme_have_folders(const Resolution& at) {
    const auto& rules = at.run.recompute.fates;
    const auto on_nvme = std::ranges::find(rules, ActivationFate::nvme, &spec::FateRule::fate);
    if (on_nvme != rules.end() && at.run.tiers.nvme_paths.empty()) {
        at.found.error(
            at.values.location(rule_key(static_cast<std::size_t>(on_nvme - rules.begin()), "fate")),
            fmt::format("recompute.fates: '{}' is on nvme", on_nvme->match),
            "tiers.nvme.paths names no folder", "Name one for each disk.");
    }
}

void open_fates_are_not_closed(const Resolution& at) {
    const bool is_none = at.values.is_keyword(fates_key, "none") || at.values.is_empty_list(fates_key);
    if (is_none && chooses_fates(at)) {
        at.found.error(at.values.location(fates_key), "recompute.fates: none leaves no choice",
                       "recompute.kind and tiers.home.activations are auto: they are chosen as fates",
                       "Remove the key, or set recompute.kind or tiers.home.activations.");
    }
}

constexpr std::array rules = {
    Rule{rules_fit_activations, "recompute.fates model train.only"},
    Rule{fates_on_nvme_have_folders, "recompute.fates tiers.nvme.paths"},
    Rule{open_fates_are_not_closed, "recompute tiers.home.activations parallel.pipeline"},
};

}  // namespace

std::span<const Rule> fate_rules() {
    return rules;
}

}  // namespace ziggurat::deck
