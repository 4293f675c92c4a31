#include "deck/resolve/resolve.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "spec/fates.hpp"
#include "spec/layout_space.hpp"

namespace ziggurat::deck {
namespace {

/// Returns true if any stage recomputes layers, or may do so (auto).
bool may_redo_layers(const Resolution& resolution) {
    const auto is_so = [&](const std::string& path) {
        const auto keyword = resolution.values.keyword(path);
        return keyword == "full" || keyword == "auto";
    };
    bool may = is_so("recompute.kind");
    for (std::int64_t stage = 0; stage < resolution.values.count("parallel.pipeline.each"); ++stage) {
        may = may || is_so(fmt::format("parallel.pipeline.each[{}].recompute.kind", stage));
    }
    return may;
}

std::vector<spec::FateRule> fate_rules_of(const Resolution& resolution) {
    const Values& values = resolution.values;
    std::vector<spec::FateRule> rules;
    for (std::int64_t i = 0; i < values.count("recompute.fates"); ++i) {
        const auto path = fmt::format("recompute.fates[{}]", i);
        const bool has_match = resolution.require(path + ".match", "a rule is for some activations");
        if (resolution.require(path + ".fate", "a rule gives activations a fate") && has_match) {
            const auto fate = spec::find_fate(values.keyword(path + ".fate"));
            rules.push_back({values.text(path + ".match"), fate.value_or(spec::ActivationFate::keep)});
        }
    }
    return rules;
}

}  // namespace

void close_spacing(Resolution& resolution) {
    auto& run = resolution.run;
    const auto close = [](spec::Recompute& recompute) {
        recompute.every = recompute.kind == spec::RecomputeKind::full ? recompute.every : 1;
    };
    close(run.recompute);
    for (auto& state : run.stages) {
        close(state.recompute);
    }
    if (resolution.values.integer("recompute.every") != run.recompute.every) {
        resolution.set_resolved_integer("recompute.every", run.recompute.every, "recompute.kind is not full");
    }
}

bool chooses_fates(const Resolution& resolution) {
    return resolution.is_auto("recompute.kind") && resolution.is_auto("tiers.home.activations");
}

void resolve_recompute(Resolution& resolution) {
    Values& values = resolution.values;
    auto& recompute = resolution.run.recompute;
    recompute.kind = recompute_kind(values.keyword("recompute.kind"));
    recompute.is_auto = resolution.is_auto("recompute.kind");
    recompute.every = static_cast<int>(values.integer("recompute.every"));
    const auto* kind = values.find("recompute.kind");
    if (!recompute.is_auto && kind != nullptr && kind->origin.kind == OriginKind::automatic) {
        close_spacing(resolution);  // the search of layouts has chosen the kind
    }
    recompute.fates = fate_rules_of(resolution);
    if (resolution.is_auto("recompute.fates") && !chooses_fates(resolution)) {
        values.set_resolved("recompute.fates", {}, "none",
                            "recompute.kind and tiers.home.activations set the fates of all activations");
    }
    if (values.is_keyword("recompute.split", "auto")) {
        const bool has_copies = spec::has_equal_activations(resolution.run.parallel);
        const bool is_on = has_copies && may_redo_layers(resolution);
        values.set_resolved("recompute.split", is_on, is_on ? "true" : "false",
                            is_on        ? "inputs of layers are replicated on tensor ranks"
                            : has_copies ? "recompute.kind is not full"
                                         : "tensor ranks store no replicated inputs");
    }
    recompute.split = values.boolean("recompute.split");
}

}  // namespace ziggurat::deck
