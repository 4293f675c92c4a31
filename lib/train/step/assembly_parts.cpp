#include "train/step/assembly_parts.hpp"

#include <array>
#include <span>
#include <utility>
#include <vector>

#include "comm/node/event_count.hpp"
#include "kernels/rope.hpp"
#include "layout/families/attention_window.hpp"
#include "layout/rotary_frequencies.hpp"
#include "spec/budgets.hpp"
#include "spec/weight_versions.hpp"
#include "train/ops/actions_in_turn.hpp"
#include "train/ops/bind_state_ops.hpp"
#include "train/ops/tier_notes.hpp"

namespace ziggurat::train {

using schedule::Op;
using schedule::OpClass;
using schedule::Program;

namespace {

std::variant<model::Binder<float>, model::Binder<tensor::bfloat16>> make_binder(
    const spec::RunSpec& spec, const schedule::ModelLayout& model, const device::Stream& stream) {
    using AnyBinder = std::variant<model::Binder<float>, model::Binder<tensor::bfloat16>>;
    if (spec.precision.compute == spec::DType::f32) {
        return AnyBinder{std::in_place_type<model::Binder<float>>,
                         spec,
                         model.table,
                         model.tensor_position(),
                         model.context_rank,
                         stream};
    }
    return AnyBinder{std::in_place_type<model::Binder<tensor::bfloat16>>,
                     spec,
                     model.table,
                     model.tensor_position(),
                     model.context_rank,
                     stream};
}

/// Shares the arenas that collectives access with the other ranks of the node.
state::TierMemory shared_with(comm::NodeMemory& node, state::TierMemory memory) {
    for (const auto& arena : memory.shared()) {
        node.share(arena);
    }
    return memory;
}

/// A program with the memory that its buffers have in each of some steps.
class RotatedPrograms {
  public:
    explicit RotatedPrograms(const Program& program) : program_{program} {}

    const Program& in_step(int step) {
        if (step == 0) {
            return program_;
        }
        while (std::ssize(later_) < step) {
            later_.push_back(schedule::rotated(program_, static_cast<int>(later_.size()) + 1));
        }
        return later_[static_cast<std::size_t>(step) - 1];
    }

  private:
    const Program& program_;
    std::deque<Program> later_;
};

/// Loads the kernels of `action` on `stream` and returns it.
Action loaded(const device::Stream& stream, Action action) {
    stream.load(action.run);
    return action;
}

/// Returns the tuner that measures products which `known` lacks; nullptr if `spec` wants none.
std::shared_ptr<kernels::ProductTuner> tuner_of(const spec::RunSpec& spec,
                                                const device::Stream& stream,
                                                const ProductRecord& known) {
    if (spec.precision.products != spec::ProductChoice::measured) {
        return nullptr;
    }
    auto tuner = kernels::product_tuner(stream);
    if (tuner != nullptr) {
        const auto found = known.find(tuner->library());
        tuner->measure(found == known.end() ? kernels::ProductChoices{} : found->second);
    }
    return tuner;
}

state::NvmeSpace nvme_space(const spec::Tiers& tiers) {
    return {.folders = tiers.nvme_paths,
            .stripe_bytes = tiers.nvme_block_bytes,
            .is_checked = tiers.nvme_verify,
            .is_near = tiers.nvme_near};
}

}  // namespace

Assembly::Parts::Parts(const spec::RunSpec& asked,
                       Programs programs,
                       const comm::Context& all,
                       const device::RankDevices& on,
                       const ProductRecord& known)
    : spec{asked},
      world{all},
      devices{on},
      stream{devices.device->make_stream()},
      streams{devices, stream},
      model{spec, world.rank()},
      train{std::move(programs.train)},
      evaluate{std::move(programs.evaluate)},
      cached{std::move(programs.cached)},
      publish{std::move(programs.publish)},
      node{world, {.pretended_nodes = spec.debug.nodes, .threads = spec.parallel.threads}},
      memory{shared_with(node,
                         {all_programs(), world.size(), *devices.device, nvme_space(spec.tiers),
                          spec.parallel.transport, spec::pinned_bytes_of_rank(spec)})},
      nvme{spec.tiers, memory, node},
      throttle{spec.debug.throttle, node},
      layer_throttle{spec.debug.throttle.compute, node},
      saves{model, train, memory, [this] { comm::notify(node.bell()); }},
      host_work{devices.host, world.waits(), [this] { comm::notify(node.bell()); }},
      binder{make_binder(spec, model, stream)},
      host_binder{make_binder(spec, model, devices.host)},
      tuner{tuner_of(spec, stream, known)},
      train_slots{batch_slots(train, memory)},
      evaluate_slots{batch_slots(evaluate, memory)},
      step_inputs{memory.span<kernels::StepInputs>(train.buffer(train.trainer_buffers.step_inputs)).front()},
      step_end{world, node, spec, model},
      unit_clips{world, node, train, spec.optimizer},
      rank_groups{world, node, all_programs(), spec, memory, *devices.device},
      train_groups{rank_groups, train, spec},
      evaluate_groups{rank_groups, evaluate, spec},
      tensors{world, model, train, memory},
      watch{spec, model, evaluate, memory},
      cache_pages{spec, model},
      times{share_times(world, node, train)},
      train_executor{executor_of(train, train_groups, watch)},
      evaluate_executor{executor_of(evaluate, evaluate_groups, watch)},
      cached_programs{made_cached_programs()},
      publication{made_publication()},
      executors{all_executors()} {
    stream.finish();  // kernels that Stream::load() has run write to the buffers of steps
    if (spec.precision.products == spec::ProductChoice::measured) {
        products = agree_on_products(world, tuner.get(), known);
    }
    fill_rotations();
    if (layout::num_windowed_layers(spec) > 0) {
        train_executor.before_step([this] { fill_window_starts(train_slots, spec); });
        evaluate_executor.before_step([this] { fill_window_starts(evaluate_slots, spec); });
    }
    if (spec::has_no_flush(spec.parallel)) {
        train_executor.while_waiting([this] { step_end.poll_outcomes(); });
    }
    train_executor.keep_times_in(times.own());
    notes = tier_notes(world, memory, nvme, spec.tiers.nvme_queue_depth);
}

std::vector<const Program*> Assembly::Parts::all_programs() const {
    std::vector<const Program*> all{&train, &evaluate};
    for (const auto& program : cached) {
        all.push_back(&program);
    }
    if (publish) {
        all.push_back(&*publish);
    }
    return all;
}

Executor Assembly::Parts::executor_of(const Program& program, GroupCollectives& groups, LogitsProbe& probe) {
    auto bound = actions(program, groups, probe);  // before with_streams()
    return Executor{program,       std::move(bound),
                    world.waits(), spec.run.hang_timeout_seconds,
                    &node,         groups.with_streams(program, streams.of(program))};
}

std::deque<CachedProgram> Assembly::Parts::made_cached_programs() {
    std::deque<CachedProgram> made;
    for (const auto& program : cached) {
        auto& of = made.emplace_back(spec, rank_groups, model, program, memory);
        of.executor.reset(new Executor{executor_of(program, of.groups, of.watch)});
    }
    return made;
}

std::unique_ptr<Publication> Assembly::Parts::made_publication() {
    if (!publish) {
        return nullptr;
    }
    auto made = std::make_unique<Publication>(spec, rank_groups, *publish);
    made->executor.reset(new Executor{executor_of(*publish, made->groups, watch)});
    return made;
}

std::vector<Executor*> Assembly::Parts::all_executors() {
    std::vector<Executor*> all{&train_executor, &evaluate_executor};
    for (auto& of : cached_programs) {
        all.push_back(of.executor.get());
    }
    if (publication != nullptr) {
        all.push_back(publication->executor.get());
    }
    return all;
}

std::vector<Action> Assembly::Parts::actions(const Program& program,
                                             GroupCollectives& groups,
                                             LogitsProbe& probe) {
    RotatedPrograms rotated{program};
    std::vector<Action> made;
    made.reserve(program.ops.size());
    for (const auto& op : program.ops) {
        std::vector<Action> of_steps;
        for (int step = 0; step < schedule::period_of(program, op); ++step) {
            const auto& in_step = rotated.in_step(step);
            of_steps.push_back(action(in_step, in_step.ops[&op - program.ops.data()], groups, probe));
        }
        made.push_back(host_work.applied_to(program, op, in_turn(std::move(of_steps))));
        if (op.predicate) {
            const auto& flags =
                memory.span<kernels::StepInputs>(program.buffer(op.predicate->buffer)).front();
            made.back().predicate = [&flags](std::int64_t) { return flags.redoes_updates != 0; };
        } else if (program.has_no_flush()) {
            made.back().predicate = [this, &program, &op](std::int64_t run) {
                return pipeline_fill.runs(program, op, run + step_of_first_run);
            };
        }
    }
    layer_throttle.hold_layers(program, streams.of(program), made);
    return made;
}

void Assembly::Parts::fill_rotations() const {
    for (const auto* program : all_programs()) {
        const auto fill = [&](int rotations, const spec::Model& of) {
            const std::array<std::int64_t, 3> extents{spec.data.seq, of.rotary_channels() / 2, 2};
            std::vector<float> table(extents[0] * extents[1] * extents[2]);
            kernels::rope_table(layout::rotary_frequencies(of, spec.data.seq),
                                of.rope_scaling.attention_factor, {table.data(), extents});
            memory.write(program->buffer(rotations), 0, std::as_bytes(std::span{table}));
        };
        const auto& buffers = program->trainer_buffers;
        if (buffers.rotations >= 0) {
            fill(buffers.rotations, spec.model);
        }
        if (buffers.window_rotations >= 0) {
            fill(buffers.window_rotations, layout::with_window_positions(spec.model));
        }
    }
}

std::function<void()> Assembly::Parts::kernel(const Program& program, const Op& op) {
    const bool is_on_host = program.lanes.at(op.lane).engine == schedule::Engine::host_optimizer;
    return std::visit([&](auto& b) { return b.bind(program, op, memory.arenas()); },
                      is_on_host ? host_binder : binder);
}

Action Assembly::Parts::action(const Program& program,
                               const Op& op,
                               GroupCollectives& groups,
                               LogitsProbe& probe) {
    const auto& unchanged = streams.of(program, op);
    const StateContext context{spec, model, program, memory, unchanged};
    const int index = static_cast<int>(&op - program.ops.data());
    switch (class_of(op.kind)) {
        case OpClass::compute:
        case OpClass::loss:
            return loaded(unchanged, {.run = kernel(program, op)});
        case OpClass::fill:
            return loaded(unchanged, bind_fill(context, op));
        case OpClass::add:
            return loaded(unchanged, bind_add(context, op));
        case OpClass::copy:
            if (LogitsProbe::is_watching(program, op)) {
                return probe.bind(program, op, memory, unchanged);
            }
            if (CachePages::is_copy_of_pages(program, op)) {
                return throttle.applied_to(program, op, unchanged,
                                           cache_pages.bind(program, op, memory, unchanged));
            }
            if (op.purpose == schedule::Purpose::checkpoint) {
                return saves.applied_to(index, unchanged, {.run = [] {}});
            }
            return throttle.applied_to(program, op, unchanged,
                                       bind_copy(program, op, memory, unchanged, copied.emplace_back()));
        case OpClass::read:
        case OpClass::write:
            return throttle.applied_to(program, op, unchanged, nvme.bind(program, op));
        case OpClass::norm:
            return loaded(unchanged, bind_norm(context, op));
        case OpClass::update:
            if (program.variant != schedule::Variant::train) {
                return loaded(unchanged, bind_update(context, op));
            }
            return saves.applied_to(index, unchanged, loaded(unchanged, bind_update(context, op)));
        case OpClass::step_end:
            if (op.kind == schedule::OpKind::unit_clip) {
                return unit_clips.bind(program, op, memory);
            }
            return step_end.bind(program, op, memory);
        case OpClass::collective:
            return throttle.applied_to(program, op, unchanged, groups.bind(program, op, memory));
    }
    throw std::invalid_argument{"no kind of op"};
}

}  // namespace ziggurat::train
