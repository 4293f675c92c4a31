#include "plan/planned_time.hpp"

#include <algorithm>
#include <utility>

#include "layout/mesh.hpp"
#include "plan/cost/collective_cost.hpp"
#include "plan/cost/op_costs.hpp"
#include "plan/for_each_on_threads.hpp"
#include "plan/simulator/step_simulation.hpp"
#include "plan/stage_kinds.hpp"
#include "schedule/build_program.hpp"
#include "spec/depths.hpp"

namespace ziggurat::plan {
namespace {

/// Returns, for each stage, the index of the stage in `kinds` that is of its kind.
std::vector<std::size_t> kind_of_each_stage(const spec::RunSpec& spec, const std::vector<int>& kinds) {
    const StageComparison stages{spec};
    std::vector<std::size_t> found;
    for (int stage = 0; stage < spec.parallel.stages; ++stage) {
        std::size_t kind = 0;
        while (kind + 1 < kinds.size() && !stages.are_identical(kinds[kind], stage)) {
            ++kind;
        }
        found.push_back(kind);
    }
    return found;
}

/// Returns the slots of a stage with the seconds of its messages.
///
/// These depend on the nodes of its neighbours.
StageSlots with_messages(StageSlots slots, const spec::RunSpec& spec, int stage, const Rates& rates) {
    const layout::Mesh mesh{spec.parallel};
    const int stages = spec.parallel.stages;
    const auto node_of = [&](int at) {
        return mesh.neighbour(spec::Axis::pipeline, 0, (at + stages) % stages) / rates.ranks_per_node;
    };
    const auto seconds = [&](double bytes, int peer) {
        return bytes > 0
                   ? message_seconds(static_cast<std::int64_t>(bytes), node_of(stage) == node_of(peer), rates)
                   : 0;
    };
    slots.to_next = seconds(slots.to_next, stage + 1);
    slots.to_previous = seconds(slots.to_previous, stage - 1);
    return slots;
}

}  // namespace

PipelineTimes pipeline_of(const spec::RunSpec& spec, std::vector<StageSlots> stages, const Rates& rates) {
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
        stages[stage] = with_messages(std::move(stages[stage]), spec, static_cast<int>(stage), rates);
    }
    return pipeline_times({spec.parallel.pipeline_schedule, spec.parallel.stages,
                           spec.parallel.chunks_per_stage, static_cast<int>(spec.train.micro_batches)},
                          stages);
}

namespace {

PlannedTime planned_with(const spec::RunSpec& spec, const Rates& rates) {
    const auto kinds = stages_of_each_kind(spec);
    const auto ranks = ranks_of_each_kind(spec);
    PlannedTime made;
    made.stages.resize(kinds.size());
    const auto plan_kind = [&](std::size_t kind) {
        made.stages[kind].stage = kinds[kind];
        made.stages[kind].time = stage_time(spec, ranks[kind], rates);
    };
    for_each_on_threads(kinds.size(), plan_kind, threads_of_plans());
    std::vector<StageSlots> slots;
    for (const auto kind : kind_of_each_stage(spec, kinds)) {
        slots.push_back(made.stages[kind].time.slots);
        ++made.stages[kind].stages;
    }
    made.pipeline = pipeline_of(spec, std::move(slots), rates);
    made.step_seconds = made.pipeline.step_seconds;
    for (const auto& stage : made.stages) {
        // Slots of few micro-batches can hide work of which a whole step has too much.
        for (const auto& [lane, seconds] : stage.time.lanes) {
            made.step_seconds = std::max(made.step_seconds, seconds);
        }
    }
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
        made.stages[kind].idle_seconds = made.pipeline.idle_seconds.at(static_cast<std::size_t>(kinds[kind]));
        if (made.stages[kind].idle_seconds < made.bound().idle_seconds) {
            made.slowest = static_cast<int>(kind);
        }
    }
    return made;
}

}  // namespace

PlannedTime planned_time(const spec::RunSpec& spec, const spec::MachineSpec& machine) {
    return planned_with(spec, rates_of(spec, machine));
}

double redone_step_seconds(const spec::RunSpec& spec, const spec::MachineSpec& machine) {
    if (!spec::speculates(spec)) {
        return 0;
    }
    auto rates = rates_of(spec, machine);
    rates.redoes_updates = true;
    return planned_with(spec, rates).step_seconds;
}

double simulated_step_seconds(const spec::RunSpec& spec, const spec::MachineSpec& machine) {
    const auto rates = rates_of(spec, machine);
    std::vector<schedule::Program> programs;
    std::vector<SimulatedRank> ranks;
    programs.reserve(static_cast<std::size_t>(spec.parallel.ranks));
    for (int rank = 0; rank < spec.parallel.ranks; ++rank) {
        const schedule::ModelLayout model{spec, rank};
        programs.push_back(schedule::build_program(spec, model, schedule::Variant::train));
        ranks.push_back({&programs.back(), op_seconds(programs.back(), spec, model, rates)});
    }
    return simulate_steps(ranks, rates).step_seconds;
}

}  // namespace ziggurat::plan
