#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "deck/resolve/resolve.hpp"
#include "spec/state_spans.hpp"

namespace ziggurat::deck {
namespace {

constexpr std::array span_keys = {"sharding.parameters", "sharding.gradients", "sharding.optimizer"};

/// Returns the data ranks of a span's keyword or number: without one the minimum, with auto 0.
int span_of(Resolution& resolution, const std::string& path) {
    const spec::Parallel& parallel = resolution.run.parallel;
    const std::string keyword = resolution.values.keyword(path);
    if (keyword == "all") {
        resolution.set_resolved_integer(path, parallel.data, "all: the data ranks");
    } else if (keyword == "node") {
        resolution.set_resolved_integer(path, data_ranks_per_node(resolution), "node: data ranks of a node");
    } else if (keyword == "auto") {
        return 0;
    }
    return resolution.values.has(path) ? static_cast<int>(resolution.values.integer(path))
                                       : parallel.min_span();
}

/// Returns spans that nest, with the minimum of sharding where `spans` are 0.
///
/// They apply until a search has chosen them (auto_layout.hpp).
spec::StateSpans without_search(spec::StateSpans spans, int min) {
    if (spans.optimizer == 0) {
        spans.optimizer = std::max({min, spans.gradients, spans.parameters});
    }
    if (spans.gradients == 0) {
        spans.gradients = spans.parameters > 0 ? spans.parameters : min;
    }
    if (spans.parameters == 0) {
        spans.parameters = spans.gradients == spans.optimizer ? min : spans.gradients;
    }
    return spans;
}

void set_spans(spec::Sharding& sharding, const spec::StateSpans& spans) {
    sharding.parameters = spans.parameters;
    sharding.gradients = spans.gradients;
    sharding.optimizer = spans.optimizer;
}

/// Resolves shard degrees from a ZeRO stage or spans.
///
/// Without either, all state is replicated, except over the layers of a cube.
void resolve_spans(Resolution& resolution) {
    Values& values = resolution.values;
    spec::Sharding& sharding = resolution.run.sharding;
    const bool is_open = resolution.is_auto("sharding.zero");
    bool has_spans = false;
    for (const char* key : span_keys) {
        has_spans = has_spans || values.has(key);
        if (values.has(key) && values.has("sharding.zero") && !is_open) {
            resolution.found.error(values.location(key),
                                   fmt::format("{} and sharding.zero are both given", key),
                                   "a ZeRO stage is a choice of the three spans", "Remove one of them.");
            values.mark_bad("sharding");
            return;
        }
    }
    sharding.is_by_span = has_spans;
    if (has_spans) {
        set_spans(sharding, without_search({.parameters = span_of(resolution, span_keys[0]),
                                            .gradients = span_of(resolution, span_keys[1]),
                                            .optimizer = span_of(resolution, span_keys[2])},
                                           resolution.run.parallel.min_span()));
        return;
    }
    if (!values.has("sharding.zero") && !values.is_bad("sharding")) {
        DeckValue stage;
        stage.data = std::int64_t{0};
        stage.written = "0";
        values.set("sharding.zero", std::move(stage));
    }
    const auto& parallel = resolution.run.parallel;
    const auto spans = spec::spans_of_stage(static_cast<int>(values.integer("sharding.zero")), parallel.data);
    set_spans(sharding, spec::in_whole_layers(spans, parallel.min_span()));
}

spec::ReducePlan reduce_plan(const std::string& keyword) {
    return keyword == "each_microbatch" ? spec::ReducePlan::each_microbatch
           : keyword == "by_span"       ? spec::ReducePlan::by_span
                                        : spec::ReducePlan::at_end;
}

const char* keyword_of(spec::ReducePlan plan) {
    return plan == spec::ReducePlan::each_microbatch ? "each_microbatch"
           : plan == spec::ReducePlan::by_span       ? "by_span"
                                                     : "at_end";
}

/// Returns the keys of homes of gradients, general and per stage, that are set in the deck.
std::vector<std::string> homes_of_gradients(const Values& values) {
    std::vector<std::string> paths{"tiers.home.gradients"};
    for (std::int64_t stage = 0; stage < values.count("parallel.pipeline.each"); ++stage) {
        paths.push_back(fmt::format("parallel.pipeline.each[{}].home.gradients", stage));
    }
    std::erase_if(paths, [&](const auto& path) { return !values.has(path); });
    return paths;
}

void resolve_reduce(Resolution& resolution) {
    Values& values = resolution.values;
    spec::Sharding& sharding = resolution.run.sharding;
    const std::string keyword = values.keyword("sharding.reduce");
    if (keyword == "auto") {
        auto homes = homes_of_gradients(values);
        if (values.boolean("tiers.reuse") && values.has("tiers.home.parameters")) {
            homes.emplace_back("tiers.home.parameters");  // that of gradients follows it
        }
        resolution.run.tiers.open.reduce =
            std::ranges::any_of(homes, [&](const auto& path) { return resolution.is_auto(path); });
        const bool leaves_device = std::ranges::any_of(homes, [&](const auto& path) {
            return !resolution.is_auto(path) && values.as<spec::Home>(path).device < 1;
        });
        const int data = resolution.run.parallel.data;
        sharding.reduce = spec::reduce_plan_of(spec::spans_of(sharding), data, leaves_device);
        values.set_resolved("sharding.reduce", {}, keyword_of(sharding.reduce),
                            leaves_device ? "gradients at home away from the device"
                                          : fmt::format("the gradient span is {} of {} data ranks",
                                                        sharding.gradients, data));
        return;
    }
    sharding.reduce = reduce_plan(keyword);
}

/// Resolves open homes of gradients. Gradients that are not reduced per micro-batch stay on the device.
void close_home_of_gradients(Resolution& resolution) {
    const std::string keyword = resolution.values.keyword("sharding.reduce");
    for (const auto& path : homes_of_gradients(resolution.values)) {
        if (keyword != "auto" && keyword != "each_microbatch" && resolution.is_auto(path)) {
            resolution.values.set_resolved(path, spec::Home{}, "device",
                                           fmt::format("sharding.reduce = {} keeps them there", keyword));
        }
    }
}

void resolve_sum_group(Resolution& resolution) {
    const spec::Parallel& parallel = resolution.run.parallel;
    const std::string keyword = resolution.values.keyword("sharding.sum_group");
    if (keyword == "flat") {
        resolution.set_resolved_integer("sharding.sum_group", parallel.data, "flat: all data ranks");
    } else if (keyword == "node") {
        resolution.set_resolved_integer("sharding.sum_group",
                                        std::gcd(parallel.data, data_ranks_per_node(resolution)),
                                        "node: data ranks of a node");
    }
    resolution.run.sharding.sum_group = static_cast<int>(resolution.values.integer("sharding.sum_group"));
}

/// Resolves the secondary shard degree.
///
/// The keyword `node` creates a second copy only if that helps: sharded over several ranks, but fewer than
/// the parameters.
void resolve_secondary(Resolution& resolution) {
    Values& values = resolution.values;
    spec::Sharding& sharding = resolution.run.sharding;
    if (values.is_keyword("sharding.secondary", "node")) {
        const int span = std::gcd(sharding.parameters, data_ranks_per_node(resolution));
        if (span == sharding.parameters) {
            values.set_resolved("sharding.secondary", {}, "none",
                                "parameters are not sharded over more than a node");
        } else if (span == 1) {
            values.set_resolved("sharding.secondary", {}, "none", "no data ranks share a node");
        } else {
            resolution.set_resolved_integer("sharding.secondary", span, "node: data ranks of a node");
        }
    }
    sharding.secondary = static_cast<int>(values.integer("sharding.secondary"));
}

}  // namespace

void resolve_sharding(Resolution& resolution) {
    resolve_spans(resolution);
    resolve_secondary(resolution);
    resolution.run.sharding.leases = resolution.values.is_keyword("sharding.leases", "step")
                                         ? spec::LeaseSpan::step
                                         : spec::LeaseSpan::pass;
    close_home_of_gradients(resolution);
    resolve_reduce(resolution);
    resolve_sum_group(resolution);
}

}  // namespace ziggurat::deck
