/// Random fates of activations, as the rules of recompute.fates.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "layout/families/activations.hpp"
#include "spec/fates.hpp"
#include "spec/run_spec.hpp"
#include "tests/support/random/draw.hpp"

namespace ziggurat::test {

/// Draws rules for activations of the run: some for one layer, some for all layers.
///
/// \param max       number of rules
/// \param has_nvme  true if activations may go to NVMe
inline std::vector<spec::FateRule> draw_fates(Draw& draw, const spec::RunSpec& run, int max, bool has_nvme) {
    using enum spec::ActivationFate;
    const auto activations = layout::activations_of(layout::family_table(run));
    std::vector<spec::FateRule> rules;
    for (auto left = activations.empty() ? 0 : draw.between(1, max); left > 0; --left) {
        const auto activation = draw.one_of(activations);
        auto name = activation.name;
        if (name.starts_with("layers.") && draw.chance(0.7)) {
            name = name.substr(name.find('.', 7) + 1);
        }
        std::vector<spec::ActivationFate> fates{keep, host, host};
        if (has_nvme) {
            fates.push_back(nvme);
        }
        if (activation.is_recomputable) {
            fates.insert(fates.end(), {recompute, recompute, recompute});
        }
        const bool is_known =
            std::ranges::any_of(rules, [&](const spec::FateRule& rule) { return rule.match == name; });
        if (!is_known) {
            rules.push_back({name, draw.one_of(fates)});
        }
    }
    return rules;
}

}  // namespace ziggurat::test
