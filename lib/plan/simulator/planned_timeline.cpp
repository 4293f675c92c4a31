#include "plan/simulator/planned_timeline.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "layout/mesh.hpp"
#include "plan/cost/op_costs.hpp"
#include "plan/rank_programs.hpp"
#include "plan/reduced_run.hpp"
#include "plan/stage_kinds.hpp"
#include "schedule/build_program.hpp"
#include "schedule/model_layout.hpp"
#include "spec/weight_versions.hpp"

namespace ziggurat::plan {
namespace {

/// Micro-batches of a reduced run.
constexpr std::int64_t micro_batches_shown = 6;

/// Adds the ranks to the timeline, simulated together.
///
/// Returns the seconds of their step.
double add_ranks(PlannedTimeline& made,
                 const spec::RunSpec& spec,
                 const std::vector<std::pair<int, int>>& ranks_and_stages,
                 const Rates& rates) {
    const auto first = made.ranks.size();
    std::vector<SimulatedRank> simulated;
    for (const auto& [rank, stage] : ranks_and_stages) {
        const schedule::ModelLayout model{spec, rank};
        made.ranks.push_back({rank, stage, schedule::build_timed(spec, model), {}});
        simulated.push_back({nullptr, op_seconds(made.ranks.back().program, spec, model, rates)});
    }
    for (std::size_t i = 0; i < simulated.size(); ++i) {
        simulated[i].program = &made.ranks[first + i].program;
    }
    const auto steps = simulate_steps(simulated, rates);
    for (std::size_t i = 0; i < simulated.size(); ++i) {
        for (auto times : steps.times[static_cast<std::size_t>(steps.step)][i]) {
            times.begin -= steps.begin;
            times.end -= steps.begin;
            times.after.rank += times.after.rank < 0 ? 0 : static_cast<int>(first);
            made.ranks[first + i].times.push_back(times);
        }
    }
    return steps.step_seconds;
}

}  // namespace

PlannedTimeline planned_timeline(const spec::RunSpec& spec, const spec::MachineSpec& machine) {
    const auto rates = rates_of(spec, machine);
    PlannedTimeline made;
    // Without a flush, the ops of one step on different stages do not match each other.
    const bool is_together = !spec::has_no_flush(spec.parallel);
    if (is_together && passes_of_step(spec) * weight_of_layer(spec) <= max_timeline_passes) {
        const layout::Mesh mesh{spec.parallel};
        std::vector<std::pair<int, int>> ranks;
        for (int stage = 0; stage < spec.parallel.stages; ++stage) {
            ranks.emplace_back(mesh.neighbour(spec::Axis::pipeline, 0, stage), stage);
        }
        made.step_seconds = add_ranks(made, spec, ranks, rates);
        return made;
    }
    auto shorter = spec;
    shorter.train.micro_batches = std::min(spec.train.micro_batches, micro_batches_shown);
    if (shorter.train.micro_batches < spec.train.micro_batches) {
        shorter.tiers.movement = spec::Movement::fixed;  // fewer leave more memory free for chunks
    }
    const auto built = shortened(shorter, Size::of_search).spec;
    const auto kinds = stages_of_each_kind(built);
    const auto ranks = ranks_of_each_kind(built);
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
        made.step_seconds =
            std::max(made.step_seconds, add_ranks(made, built, {{ranks[kind], kinds[kind]}}, rates));
    }
    std::vector<std::string> parts;
    if (built.model.layers < spec.model.layers) {
        parts.push_back(fmt::format("{} of {} layers", built.model.layers, spec.model.layers));
    }
    if (built.train.micro_batches < spec.train.micro_batches) {
        parts.push_back(
            fmt::format("{} of {} micro-batches", built.train.micro_batches, spec.train.micro_batches));
    }
    if (spec.parallel.stages > 1) {
        parts.push_back(
            fmt::format("{} of {} stages, without waits for each other", kinds.size(), spec.parallel.stages));
    }
    made.reduced = fmt::format("{}", fmt::join(parts, ", "));
    return made;
}

double MemoryCurve::max() const {
    return bytes.empty() ? 0 : *std::ranges::max_element(bytes);
}

MemoryCurve memory_curve(const TimelineRank& rank, spec::Tier tier, double step_seconds) {
    struct Use {
        double begin = std::numeric_limits<double>::max();
        double end = 0;
        bool is_used = false;
    };
    const auto& program = rank.program;
    std::vector<Use> uses(program.buffers.size());
    for (std::size_t op = 0; op < program.ops.size(); ++op) {
        for (const auto* operands : {&program.ops[op].reads, &program.ops[op].writes}) {
            for (const auto& operand : *operands) {
                auto& use = uses[operand.buffer];
                use.begin = std::min(use.begin, rank.times[op].begin);
                use.end = std::max(use.end, rank.times[op].end);
                use.is_used = true;
            }
        }
    }
    std::map<double, double> changes{{0, 0}};
    const auto add = [&](double from, double until, double bytes) {
        changes[std::max(from, 0.0)] += bytes;
        if (until < step_seconds) {
            changes[std::max(until, 0.0)] -= bytes;
        }
    };
    for (std::size_t i = 0; i < program.buffers.size(); ++i) {
        const auto& buffer = program.buffers[i];
        const auto& use = uses[i];
        const bool is_transient = buffer.lifetime == schedule::Lifetime::transient;
        if (buffer.tier != tier || (is_transient && !use.is_used)) {
            continue;
        }
        const auto bytes = static_cast<double>(buffer.bytes);
        if (!is_transient) {
            add(0, step_seconds, bytes);
            continue;
        }
        add(use.begin, use.end, bytes);
        // In the steady state, the step before and the step after use the buffer at the same offsets in time.
        if (use.begin < 0) {
            add(use.begin + step_seconds, step_seconds, bytes);
        }
        if (use.end > step_seconds) {
            add(0, use.end - step_seconds, bytes);
        }
    }
    MemoryCurve curve;
    double now = 0;
    for (const auto& [seconds, bytes] : changes) {
        now += bytes;
        if (seconds <= step_seconds) {
            curve.seconds.push_back(seconds);
            curve.bytes.push_back(now);
        }
    }
    return curve;
}

}  // namespace ziggurat::plan
