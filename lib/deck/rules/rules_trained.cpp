#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "deck/messages/nearest.hpp"
#include "deck/rules/rules.hpp"
#include "layout/tensors.hpp"
#include "spec/tensor_pattern.hpp"

namespace ziggurat::deck {
namespace {

/// Replaces the layer number by `*`: `layers.*.mlp.up.weight` for `layers.3.mlp.up.weight`.
std::string of_any_layer(std::string name) {
    constexpr std::string_view prefix = "layers.";
    if (!name.starts_with(prefix)) {
        return name;
    }
    const auto begin = name.begin() + static_cast<std::ptrdiff_t>(prefix.size());
    const auto end = std::find_if_not(begin, name.end(), [](unsigned char c) { return std::isdigit(c); });
    return end == begin ? name : name.replace(begin, end, "*");
}

/// Returns the names of the model's tensors, one for all layers.
std::vector<std::string> kinds_of_tensors(const spec::Model& model) {
    spec::Model shallow = model;
    shallow.layers = 1;
    std::vector<std::string> kinds;
    for (const auto& tensor : layout::tensors(shallow)) {
        kinds.push_back(of_any_layer(tensor.name));
    }
    return kinds;
}

std::vector<std::string> names_of(const std::vector<layout::Tensor>& tensors) {
    std::vector<std::string> names;
    for (const auto& tensor : tensors) {
        names.push_back(tensor.name);
    }
    return names;
}

/// Returns a suggestion to replace a pattern that matches no tensor.
std::string advice_on(const std::string& pattern, const spec::Model& model) {
    const auto kinds = kinds_of_tensors(model);
    const auto fits = [&](const std::string& other) {
        return spec::unmatched_patterns({&other, 1}, kinds).empty();
    };
    const auto everywhere = of_any_layer(pattern);
    if (everywhere != pattern && fits(everywhere)) {
        return fmt::format("Layers are 0 to {}.", model.layers - 1);
    }
    auto meant = nearest(everywhere, {kinds.begin(), kinds.end()});
    if (const auto around = fmt::format("*{}*", pattern); meant.empty() && fits(around)) {
        meant = around;
    }
    return meant.empty() ? fmt::format("There are {}.", fmt::join(kinds, ", "))
                         : fmt::format("Did you mean '{}'?", meant);
}

void expect_tensors(const Resolution& at, const std::string& key, const std::vector<std::string>& patterns) {
    const auto names = names_of(layout::tensors(at.run.model));
    for (const auto& pattern : spec::unmatched_patterns(patterns, names)) {
        at.found.error(at.values.location(key),
                       fmt::format("{}: {} matches no tensor of the model", key, in_quotes(pattern)),
                       "a pattern must match the whole name; * matches any text",
                       advice_on(pattern, at.run.model));
    }
}

void patterns_of_trained_tensors_fit_some(const Resolution& at) {
    if (at.run.model.lora.is_on()) {
        return;  // a separate rule checks adapters
    }
    expect_tensors(at, "train.only", at.run.train.only);
}

void patterns_without_decay_fit_some(const Resolution& at) {
    expect_tensors(at, "optimizer.no_decay", at.run.optimizer.no_decay);
}

void something_is_trained(const Resolution& at) {
    if (at.values.is_keyword("train.only", "all") || !at.run.train.only.empty()) {
        return;
    }
    at.found.error(at.values.location("train.only"), "train.only is an empty list",
                   "the run would train no tensor",
                   "Name tensors such as 'layers.*', or leave it out to train all.");
}

void parts_of_a_matrix_are_trained_together(const Resolution& at) {
    const auto tensors = layout::tensors(at.run.model);
    for (std::size_t i = 1; i < tensors.size(); ++i) {
        const auto* trained = &tensors[i - 1];
        const auto* frozen = &tensors[i];
        if (!frozen->joined_to_previous ||
            spec::is_trained(at.run.train, trained->name) == spec::is_trained(at.run.train, frozen->name)) {
            continue;
        }
        if (!spec::is_trained(at.run.train, trained->name)) {
            std::swap(trained, frozen);
        }
        at.found.error(at.values.location("train.only"),
                       fmt::format("train.only has '{}' without '{}'", trained->name, frozen->name),
                       "queries, keys and values, and gate and up, are one product each, which is trained as "
                       "a whole or not at all",
                       fmt::format("Add '{}', or leave both out.", of_any_layer(frozen->name)));
        return;
    }
}

constexpr std::array rules = {
    Rule{patterns_of_trained_tensors_fit_some, "train.only model"},
    Rule{patterns_without_decay_fit_some, "optimizer.no_decay model"},
    Rule{something_is_trained, "train.only"},
    Rule{parts_of_a_matrix_are_trained_together, "train.only model"},
};

}  // namespace

std::span<const Rule> trained_rules() {
    return rules;
}

}  // namespace ziggurat::deck
