#include <fmt/format.h>

#include <array>
#include <vector>

#include "deck/messages/arithmetic.hpp"
#include "deck/rules/rules.hpp"
#include "spec/stage_state.hpp"

namespace ziggurat::deck {
namespace {

struct Span {
    const char* key;
    int ranks;
};

/// Checks that shard degrees are nested.
///
/// Source: Rajbhandari et al., 2020, and AMSP (Chen et al., 2023): spans are consecutive data ranks, each
///         within the next.
void spans_nest(const Resolution& at) {
    const spec::Sharding& sharding = at.run.sharding;
    const std::array spans = {Span{"sharding.parameters", sharding.parameters},
                              Span{"sharding.gradients", sharding.gradients},
                              Span{"sharding.optimizer", sharding.optimizer}};
    const int data = at.run.parallel.data;
    for (std::size_t i = 0; i < spans.size(); ++i) {
        const bool is_last = i + 1 == spans.size();
        const int outer = is_last ? data : spans[i + 1].ranks;
        if (outer % spans[i].ranks == 0) {
            continue;
        }
        at.found.error(
            at.values.location(spans[i].key),
            fmt::format("{} = {} does not divide {} = {}", spans[i].key, spans[i].ranks,
                        is_last ? "the data degree" : spans[i + 1].key, outer),
            "spans nest: parameters in gradients, gradients in optimizer, optimizer in all data ranks",
            fmt::format("Use {}.", list_or(divisors(outer))));
    }
}

/// Checks that the layers of a cube divide the parameters, and with them (spans_nest) all state.
///
/// Source: Bian et al., "Maximizing Parallelism in Distributed Training for Huge Neural Networks", 2021.
void layers_of_a_cube_divide_parameters(const Resolution& at) {
    const auto& parallel = at.run.parallel;
    const int span = at.run.sharding.parameters;
    if (!parallel.has_cube() || span % parallel.tensor_depth == 0) {
        return;
    }
    std::vector<std::int64_t> fitting;
    for (const auto divisor : divisors(parallel.data)) {
        if (divisor % parallel.tensor_depth == 0) {
            fitting.push_back(divisor);
        }
    }
    at.found.error(at.values.location("sharding.parameters"),
                   fmt::format("sharding.parameters = {} in tensor mode 3d", span),
                   fmt::format("the {} layers of the cube divide each weight", parallel.tensor_depth),
                   fmt::format("Use {}.", list_or(fitting)));
}

void gradients_follow_one_of_the_others(const Resolution& at) {
    const spec::Sharding& sharding = at.run.sharding;
    if (sharding.gradients == sharding.parameters || sharding.gradients == sharding.optimizer) {
        return;
    }
    at.found.error(at.values.location("sharding.gradients"),
                   fmt::format("sharding.gradients = {}", sharding.gradients),
                   "a gradient is reduced to the ranks that use its parameter or that update it",
                   fmt::format("Use {}.", list_or({sharding.parameters, sharding.optimizer})));
}

/// Checks the second shard degree: later leases gather from a copy that fewer ranks share.
///
/// Source: Wang et al., "ZeRO++", 2023
void secondary_is_inside_the_parameters_span(const Resolution& at) {
    const spec::Sharding& sharding = at.run.sharding;
    if (sharding.secondary == 0 || sharding.parameters % sharding.secondary == 0) {
        return;
    }
    auto choices = divisors(sharding.parameters);
    std::erase(choices, 1);
    at.found.error(at.values.location("sharding.secondary"),
                   fmt::format("sharding.secondary = {} does not divide the span of parameters, {}",
                               sharding.secondary, sharding.parameters),
                   "the second copy is sharded within the first",
                   choices.empty() ? "Leave it out." : fmt::format("Use {}.", list_or(choices)));
}

void pretended_nodes_have_ranks(const Resolution& at) {
    const int ranks = at.run.parallel.ranks;
    if (at.run.debug.nodes > ranks) {
        at.found.error(
            at.values.location("debug.nodes"),
            fmt::format("debug.nodes = {} with {} rank{}", at.run.debug.nodes, ranks, ranks == 1 ? "" : "s"),
            "every emulated node has at least one rank",
            fmt::format("Use at most {}, or start more ranks.", ranks));
    }
}

void sum_groups_are_equal(const Resolution& at) {
    const int data = at.run.parallel.data;
    if (data % at.run.sharding.sum_group == 0) {
        return;
    }
    at.found.error(at.values.location("sharding.sum_group"),
                   fmt::format("sharding.sum_group = {} does not divide the data degree, {}",
                               at.run.sharding.sum_group, data),
                   "sums run inside equal groups, then over groups",
                   fmt::format("Use {}.", list_or(divisors(data))));
}

void absent_gradients_are_summed_at_once(const Resolution& at) {
    const bool leaves =
        spec::is_any_stage(at.run, [](const spec::StageState& of) { return of.gradients.device < 1; });
    if (leaves && at.run.sharding.reduce != spec::ReducePlan::each_microbatch) {
        at.found.error(at.values.location("sharding.reduce"),
                       fmt::format("sharding.reduce = {} with gradients at home away from the device",
                                   at.values.find("sharding.reduce")->written),
                       "an accumulator that leaves the device after each micro-batch holds sums over ranks",
                       "Use each_microbatch or auto.");
    }
}

void leases_of_a_step_leave_no_second(const Resolution& at) {
    const spec::Sharding& sharding = at.run.sharding;
    if (sharding.leases == spec::LeaseSpan::step && sharding.secondary > 0) {
        at.found.error(at.values.location("sharding.leases"), "sharding.leases: step with sharding.secondary",
                       "parameters are gathered once a step, so a second copy is never used",
                       "Leave one of them out.");
    }
}

constexpr std::array rules = {
    Rule{spans_nest, "sharding parallel"},
    Rule{layers_of_a_cube_divide_parameters, "sharding parallel"},
    Rule{gradients_follow_one_of_the_others, "sharding"},
    Rule{secondary_is_inside_the_parameters_span, "sharding"},
    Rule{leases_of_a_step_leave_no_second, "sharding"},
    Rule{pretended_nodes_have_ranks, "debug.nodes parallel"},
    Rule{sum_groups_are_equal, "sharding.sum_group parallel"},
    Rule{absent_gradients_are_summed_at_once, "sharding.reduce tiers.home.gradients parallel.pipeline"},
};

}  // namespace

std::span<const Rule> sharding_rules() {
    return rules;
}

}  // namespace ziggurat::deck
