#include "spec/fates.hpp"

#include <algorithm>
#include <array>

#include "spec/recompute_text.hpp"
#include "spec/tile_rules.hpp"

namespace ziggurat::spec {
namespace {

constexpr std::array all_fates{ActivationFate::keep, ActivationFate::host, ActivationFate::nvme,
                               ActivationFate::recompute};

}  // namespace

const char* keyword_of(ActivationFate fate) {
    switch (fate) {
        case ActivationFate::keep:
            return "keep";
        case ActivationFate::host:
            return "host";
        case ActivationFate::nvme:
            return "nvme";
        case ActivationFate::recompute:
            return "recompute";
    }
    return "";
}

std::optional<ActivationFate> find_fate(std::string_view keyword) {
    for (const auto fate : all_fates) {
        if (keyword == keyword_of(fate)) {
            return fate;
        }
    }
    return std::nullopt;
}

std::optional<Tier> tier_of(ActivationFate fate) {
    switch (fate) {
        case ActivationFate::keep:
            return Tier::device;
        case ActivationFate::host:
            return Tier::host;
        case ActivationFate::nvme:
            return Tier::nvme;
        case ActivationFate::recompute:
            return std::nullopt;
    }
    return std::nullopt;
}

std::optional<ActivationFate> fate_of(const std::vector<FateRule>& rules, std::string_view activation) {
    for (const auto& rule : rules) {
        if (names_tensor(rule.match, activation)) {
            return rule.fate;
        }
    }
    return std::nullopt;
}

std::string name_in_layer(std::string_view name) {
    constexpr std::string_view of_layer = "layers.";
    if (name.starts_with(of_layer)) {
        name.remove_prefix(name.find('.', of_layer.size()) + 1);
    }
    return std::string{name};
}

bool has_fate(const std::vector<FateRule>& rules, ActivationFate fate) {
    return std::ranges::any_of(rules, [fate](const FateRule& rule) { return rule.fate == fate; });
}

bool swaps_any(const std::vector<FateRule>& rules) {
    return has_fate(rules, ActivationFate::host) || has_fate(rules, ActivationFate::nvme);
}

std::string write_fates(const std::vector<FateRule>& rules) {
    std::string text;
    for (const auto& rule : rules) {
        text += text.empty() ? "[" : ", ";
        text += "{match: '" + rule.match + "', fate: " + keyword_of(rule.fate) + "}";
    }
    return text.empty() ? "none" : text + "]";
}

std::string recomputation_text(const Recompute& recompute) {
    std::string text = keyword_of(recompute.kind);
    if (recompute.kind == RecomputeKind::full && recompute.every > 1) {
        text += " / " + std::to_string(recompute.every);
    }
    return recompute.fates.empty() ? text : text + " and fates";
}

}  // namespace ziggurat::spec
