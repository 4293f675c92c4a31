#include "plan/simulator/stage_time.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layout/stage_layers.hpp"
#include "plan/cost/collective_cost.hpp"
#include "plan/cost/op_costs.hpp"
#include "plan/for_each_on_threads.hpp"
#include "plan/rank_programs.hpp"
#include "plan/reduced_run.hpp"
#include "plan/simulator/simulated_path.hpp"
#include "plan/simulator/slot_reader.hpp"
#include "plan/simulator/step_simulation.hpp"
#include "schedule/build_program.hpp"
#include "schedule/model_layout.hpp"
#include "spec/depths.hpp"
#include "spec/stage_state.hpp"

namespace ziggurat::plan {
namespace {

using schedule::Engine;
using schedule::ModelLayout;
using schedule::Op;
using schedule::Program;

/// Layers of a chunk, and micro-batches, whose steady state is that of many.
///
/// State that moves or is gathered ahead needs more of them.
constexpr std::int64_t layers_at_rest = 2;
constexpr std::int64_t layers_that_move = 12;
constexpr std::int64_t layers_of_chunk_that_move = 4;
constexpr std::int64_t micro_batches_at_rest = 3;
constexpr std::int64_t micro_batches_that_move = 6;
/// By layer, micro-batches share what their unit reads: two numbers of them show what one more adds.
constexpr std::int64_t micro_batches_by_layer = 16;

/// A function of two numbers of layers, or of micro-batches, as a straight line.
struct Line {
    std::int64_t few = 0;
    std::int64_t more = 0;
    std::int64_t wanted = 0;

    double at(double of_few, double of_more) const {
        const double slope = more > few ? (of_more - of_few) / static_cast<double>(more - few) : 0;
        return std::max(0.0, of_more + slope * static_cast<double>(wanted - more));
    }
};

/// Returns the run with `omitted` layers less on each virtual stage.
spec::RunSpec without_layers(const spec::RunSpec& spec, std::int64_t omitted) {
    auto made = spec;
    made.parallel.stage_layers = layout::stage_layers(spec);
    for (auto& layers : made.parallel.stage_layers) {
        layers -= omitted;
    }
    made.model.layers -= omitted * std::ssize(made.parallel.stage_layers);
    return made;
}

/// True if a layer's pass does not depend on those before it: nothing moves, is gathered ahead, or is
/// reduced during later micro-batches.
bool is_at_rest(const spec::RunSpec& spec) {
    const auto& sharding = spec.sharding;
    const bool reduces_at_end = spec.parallel.data == 1 || sharding.reduce == spec::ReducePlan::at_end;
    return !spec::is_any_state_away(spec) && sharding.parameters == 1 && reduces_at_end &&
           spec.tiers.tiles.empty();
}

/// True for the collectives of a step's sums of gradients and of its updated parameters.
bool is_of_step_sums(const Op& op) {
    return op.microbatch < 0 &&
           (op.purpose == schedule::Purpose::gradients || op.purpose == schedule::Purpose::publication);
}

/// Time of a stage that is built with some layers.
class BuiltStage {
  public:
    BuiltStage(const spec::RunSpec& spec, int rank, const Rates& rates)
        : micro_batches{spec.train.micro_batches} {
        const ModelLayout model{spec, rank};
        const auto program = schedule::build_timed(spec, model);
        std::vector<SimulatedRank> ranks{{&program, op_seconds(program, spec, model, rates)}};
        const auto steps = simulate_steps(ranks, rates);
        for (const auto& op : program.ops) {
            flops_of_unit[op.unit] += op.flops;
        }
        // Sums of a step's gradients run with the passes of the last micro-batch only. A short step has few
        // others, so passes are read from a step without them, and what they add counts one time. By layer
        // they run with the passes of all micro-batches.
        auto passes = ranks;
        for (std::size_t i = 0; i < program.ops.size(); ++i) {
            const bool is_hidden = is_of_step_sums(program.ops[i]) && !program.is_by_layer;
            passes.front().seconds[i] *= is_hidden ? 0 : 1;
        }
        const auto without_sums =
            passes.front().seconds == ranks.front().seconds ? steps : simulate_steps(passes, rates);
        slots = read_slots(program, model, without_sums);
        slots.others += std::max(0.0, steps.step_seconds - without_sums.step_seconds);
        add_lanes(program, ranks.front().seconds);
        const auto of_ops = energy_uses(program, spec, rates.ranks_per_node);
        for (std::size_t i = 0; i < program.ops.size(); ++i) {
            for (std::size_t use = 0; use < uses.size(); ++use) {
                uses[use].add(program.ops[i], "", of_ops[i][use]);
            }
        }
        for (const auto& part : critical_path(ranks, steps)) {
            const auto& op = program.ops[part.at.op];
            path.add(op, work_of(op, program), part.seconds);
        }
        for (std::size_t i = 0; i < program.ops.size(); ++i) {
            const auto& op = program.ops[i];
            if (op.kind == schedule::OpKind::send && op.purpose == schedule::Purpose::pipeline) {
                auto& message =
                    op.direction == schedule::Direction::forward ? slots.to_next : slots.to_previous;
                message = std::max(message, static_cast<double>(vector_bytes(op)));
            }
        }
    }

    /// Seconds by lane or kind of work.
    class Work {
      public:
        void add(const Op& op, const std::string& name, double seconds) {
            auto& known = by_microbatch_[name];
            known.resize(std::max(known.size(), static_cast<std::size_t>(std::max(op.microbatch, 0)) + 1));
            known[static_cast<std::size_t>(std::max(op.microbatch, 0))] += seconds;
        }

        /// Returns the seconds of a step with `wanted` micro-batches, of which `built` are known.
        ///
        /// The middle micro-batch stands for those that are not built: others may gather or reduce for the
        /// step.
        SecondsByWork of_step(std::int64_t built, std::int64_t wanted) const {
            SecondsByWork made;
            for (auto [name, seconds] : by_microbatch_) {
                seconds.resize(static_cast<std::size_t>(built));
                const double all = std::accumulate(seconds.begin(), seconds.end(), 0.0);
                made[name] = all + lower_median(seconds) * static_cast<double>(wanted - built);
            }
            return made;
        }

      private:
        std::map<std::string, std::vector<double>>
            by_microbatch_;  ///< work of the step counts with the first
    };

    std::int64_t micro_batches = 1;
    StageSlots slots;  ///< messages in bytes, not seconds
    Work lanes;
    Work path;
    Work works;
    EnumArray<spec::EnergyUse, Work, spec::num_energy_uses> uses;
    std::map<int, double> flops_of_unit;

  private:
    void add_lanes(const Program& program, const std::vector<double>& seconds) {
        for (std::size_t i = 0; i < program.ops.size(); ++i) {
            const auto& op = program.ops[i];
            lanes.add(op, program.lanes[op.lane].name, seconds[i]);
            works.add(op, work_of(op, program), seconds[i]);
        }
    }
};

SecondsByWork along(const Line& line, const SecondsByWork& few, const SecondsByWork& more) {
    SecondsByWork made;
    for (const auto& [work, seconds] : more) {
        const auto known = few.find(work);
        made[work] = line.at(known == few.end() ? 0 : known->second, seconds);
    }
    return made;
}

StageTime extended(const spec::RunSpec& spec,
                   const BuiltStage& few,
                   const BuiltStage& more,
                   const Line& line) {
    StageTime made{.slots = more.slots, .lanes = {}, .path = {}, .works = {}, .uses = {}};
    for (std::size_t chunk = 0; chunk < made.slots.forward.size(); ++chunk) {
        made.slots.forward[chunk] = line.at(few.slots.forward[chunk], more.slots.forward[chunk]);
        made.slots.backward[chunk] = line.at(few.slots.backward[chunk], more.slots.backward[chunk]);
    }
    for (std::size_t chunk = 0; chunk < made.slots.backward_weight.size(); ++chunk) {
        made.slots.backward_weight[chunk] =
            line.at(few.slots.backward_weight.at(chunk), more.slots.backward_weight[chunk]);
    }
    made.slots.others = line.at(few.slots.others, more.slots.others);
    const auto of_step = [&](const BuiltStage::Work& work) {
        return work.of_step(more.micro_batches, spec.train.micro_batches);
    };
    made.lanes = along(line, of_step(few.lanes), of_step(more.lanes));
    made.path = along(line, of_step(few.path), of_step(more.path));
    made.works = along(line, of_step(few.works), of_step(more.works));
    for (std::size_t use = 0; use < made.uses.size(); ++use) {
        made.uses[use] = along(line, of_step(few.uses[use]), of_step(more.uses[use]))[""];
    }
    return made;
}

/// Returns the time of a step by layer with more micro-batches than are built.
StageTime along_micro_batches(const StageTime& few, const StageTime& more, const Line& line) {
    auto made = more;
    const auto of_all = [&](std::vector<double> StageSlots::*pass) {
        return line.at((few.slots.*pass).front() * static_cast<double>(line.few),
                       (more.slots.*pass).front() * static_cast<double>(line.more));
    };
    for (auto pass : {&StageSlots::forward, &StageSlots::backward}) {
        (made.slots.*pass).front() = of_all(pass) / static_cast<double>(line.wanted);
    }
    made.slots.others = line.at(few.slots.others, more.slots.others);
    for (auto works : {&StageTime::lanes, &StageTime::path, &StageTime::works}) {
        made.*works = along(line, few.*works, more.*works);
    }
    for (std::size_t use = 0; use < made.uses.size(); ++use) {
        made.uses[use] = line.at(few.uses[use], more.uses[use]);
    }
    return made;
}

/// Returns the ratio of the FLOP of all layers to those of the layers that are built.
double computed_by_all(const BuiltStage& stage, const RepresentativeLayers& layers) {
    double here = 0;
    double all = 0;
    for (const auto& [unit, flops] : stage.flops_of_unit) {
        const bool is_of_layer = unit >= 1 && unit <= layers.size();
        here += flops;
        all += flops * (is_of_layer ? layers.represents(unit - 1) : 1);
    }
    return here > 0 ? all / here : 1;
}

void scale(StageTime& time, double factor) {
    for (auto* seconds : {&time.slots.forward, &time.slots.backward, &time.slots.backward_weight}) {
        for (auto& value : *seconds) {
            value *= factor;
        }
    }
    time.slots.others *= factor;
    for (auto& amount : time.uses) {
        amount *= factor;
    }
    for (auto* works : {&time.lanes, &time.path, &time.works}) {
        for (auto& [work, seconds] : *works) {
            seconds *= factor;
        }
    }
}

/// Returns the numbers of layers of a virtual stage that are built, in whole groups of recomputation.
Line layers_to_build(const spec::RunSpec& spec, std::int64_t weight) {
    std::int64_t every = 1;
    for (const auto& state : spec::states_of_stages(spec)) {
        every = std::max<std::int64_t>(every, state.recompute.every);
    }
    const auto that_move = spec.parallel.chunks_per_stage == 1 ? layers_that_move : layers_of_chunk_that_move;
    const auto wanted = std::max<std::int64_t>(2, (is_at_rest(spec) ? layers_at_rest : that_move) / weight);
    const auto more = std::max((wanted + every - 1) / every, std::int64_t{2}) * every;
    return {more / every / 2 * every, more, std::ranges::min(layout::stage_layers(spec))};
}

}  // namespace

StageTime stage_time(const spec::RunSpec& asked, int rank, const Rates& rates) {
    auto spec = asked;
    if (times_with_chunks(spec)) {
        // Chunks use the memory that is free in the whole step. A part of it does not show that.
        const BuiltStage whole{spec, rank, rates};
        return extended(spec, whole, whole, {});
    }
    spec.tiers.movement = spec::Movement::fixed;
    const auto weight = weight_of_layer(spec);
    if (spec.train.is_by_layer() && spec.train.micro_batches > micro_batches_by_layer) {
        const auto time_of = [&](std::int64_t micro_batches) {
            auto shorter = spec;
            shorter.train.micro_batches = micro_batches;
            return stage_time(shorter, rank, rates);
        };
        const Line line{micro_batches_by_layer / 2, micro_batches_by_layer, spec.train.micro_batches};
        return along_micro_batches(time_of(line.few), time_of(line.more), line);
    }
    const auto micro_batches = spec.train.is_by_layer() ? micro_batches_by_layer * weight
                               : is_at_rest(spec)       ? micro_batches_at_rest
                                                        : micro_batches_that_move;
    auto shorter = spec;
    shorter.train.micro_batches =
        std::min(spec.train.micro_batches, std::max<std::int64_t>(2, micro_batches / weight));
    const auto line = layers_to_build(spec, weight);
    if (RepresentativeLayers{spec}.are_identical() && line.wanted > line.more) {
        std::array<std::optional<BuiltStage>, 2> built;
        const auto build_one = [&](std::size_t i) {
            built.at(i).emplace(without_layers(shorter, line.wanted - (i == 0 ? line.few : line.more)), rank,
                                rates);
        };
        for_each_on_threads(built.size(), build_one, threads_of_plans());
        return extended(spec, *built[0], *built[1], line);
    }
    const auto built = shortened(shorter, Size::of_search);
    const BuiltStage all{built.spec, rank, rates};
    auto made = extended(spec, all, all, {});
    scale(made, computed_by_all(all, built.layers));
    return made;
}

}  // namespace ziggurat::plan
