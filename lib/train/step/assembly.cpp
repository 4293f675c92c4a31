#include "train/step/assembly.hpp"

#include <deque>
#include <functional>
#include <variant>

#include "base/contract.hpp"
#include "comm/node/node_memory.hpp"
#include "model/binder.hpp"
#include "schedule/build_program.hpp"
#include "schedule/model_layout.hpp"
#include "state/initial_values.hpp"
#include "state/tier_memory.hpp"
#include "tensor/bfloat16.hpp"
#include "train/step/batch_slots.hpp"
#include "train/step/bind_collectives.hpp"
#include "train/step/bind_state_ops.hpp"
#include "train/step/bind_transfers.hpp"
#include "train/step/logits_watch.hpp"
#include "train/step/nvme_notes.hpp"
#include "train/step/save_stream.hpp"
#include "train/step/step_end.hpp"
#include "train/step/tensor_access.hpp"
#include "train/step/throttle.hpp"
#include "train/step/weights_hash.hpp"

namespace ziggurat::train {

using schedule::Op;
using schedule::OpKind;
using schedule::Program;

namespace {

using AnyBinder = std::variant<model::Binder<float>, model::Binder<tensor::bfloat16>>;

AnyBinder make_binder(const spec::RunSpec& spec,
                      const schedule::ModelLayout& model,
                      const device::Stream& stream) {
    if (spec.precision.compute == spec::DType::f32) {
        return AnyBinder{std::in_place_type<model::Binder<float>>, spec, model.table, stream};
    }
    return AnyBinder{std::in_place_type<model::Binder<tensor::bfloat16>>, spec, model.table, stream};
}

/// The ranks that differ from this one only on the data axis. Collective: over `world`.
comm::Communicator data_ranks(const comm::Communicator& world, const schedule::ModelLayout& model) {
    return world.split(model.mesh.neighbour(spec::Axis::data, model.rank, 0), model.data_rank);
}

/// Lets the ranks of the node read what collectives touch.
state::TierMemory shared_with(comm::NodeMemory& node, state::TierMemory memory) {
    for (const auto& arena : memory.shared()) {
        node.share(arena);
    }
    return memory;
}

state::NvmeSpace nvme_space(const spec::Tiers& tiers) {
    return {.folders = tiers.nvme_paths,
            .stripe_bytes = tiers.nvme_block_bytes,
            .is_checked = tiers.nvme_verify,
            .is_near = tiers.nvme_near};
}

}  // namespace

struct Assembly::Parts {
    spec::RunSpec spec;
    const comm::Communicator& world;
    device::Stream stream;
    schedule::ModelLayout model;
    Program train;
    Program evaluate;
    comm::NodeMemory node;
    state::TierMemory memory;
    NvmeLanes nvme;
    std::deque<std::int64_t> copied;  ///< bytes by copy op
    Throttle throttle;
    SaveStream saves;
    AnyBinder binder;
    std::vector<BatchSlot> train_slots;
    std::vector<BatchSlot> evaluate_slots;
    kernels::StepInputs& step_inputs;
    kernels::StepInputs& update_inputs;
    ExactSum& squares;  ///< all bits zero is an empty sum
    StepEnd step_end;
    GroupCollectives train_groups;
    GroupCollectives evaluate_groups;
    TensorAccess tensors;
    LogitsWatch watch;
    NodeTimes times;
    Executor trainer;
    Executor evaluator;
    std::vector<std::string> notes;

    Parts(const spec::RunSpec& asked,
          Programs programs,
          const comm::Communicator& all,
          const device::Stream& on,
          const comm::AbortFlag& abort)
        : spec{asked},
          world{all},
          stream{on},
          model{spec, world.rank()},
          train{std::move(programs.train)},
          evaluate{std::move(programs.evaluate)},
          node{world, {.pretended_nodes = spec.debug.nodes, .threads = spec.parallel.threads}},
          memory{shared_with(node, {{&train, &evaluate}, world.size(), nvme_space(spec.tiers)})},
          nvme{spec.tiers, memory, node},
          throttle{spec.debug.throttle, node},
          saves{model, train, memory, abort},
          binder{make_binder(spec, model, stream)},
          train_slots{batch_slots(train, memory)},
          evaluate_slots{batch_slots(evaluate, memory)},
          step_inputs{memory.span<kernels::StepInputs>(input_buffer(train, "step_inputs")).front()},
          update_inputs{memory.span<kernels::StepInputs>(input_buffer(train, "update_inputs")).front()},
          squares{reinterpret_cast<ExactSum&>(*memory.at(input_buffer(train, "exact_sums")))},
          step_end{world, node, spec.optimizer, stream, squares},
          train_groups{world, node, train, spec},
          evaluate_groups{world, node, evaluate, spec},
          tensors{data_ranks(world, model), model, train, memory},
          watch{spec.model.vocab, spec.precision.compute},
          times{share_times(world, node, train)},
          trainer{train, actions(train, train_groups), abort, spec.run.hang_timeout_seconds, &node},
          evaluator{evaluate, actions(evaluate, evaluate_groups), abort, spec.run.hang_timeout_seconds,
                    &node} {
        trainer.keep_times_in(times.own());
        notes = nvme_notes(world, memory, nvme, spec.tiers.nvme_queue_depth);
    }

    std::vector<Action> actions(const Program& program, GroupCollectives& groups) {
        std::vector<Action> made;
        made.reserve(program.ops.size());
        for (const auto& op : program.ops) {
            made.push_back(action(program, op, groups));
        }
        return made;
    }

    std::function<void()> kernel(const Program& program, const Op& op) {
        return std::visit([&](auto& b) { return b.bind(program, op, memory.arenas()); }, binder);
    }

    Action action(const Program& program, const Op& op, GroupCollectives& groups) {
        const StateContext context{spec, model, program, memory, stream, squares};
        switch (op.kind) {
            case OpKind::compute:
            case OpKind::loss:
                return watch.applied_to(program, op, memory, {.run = kernel(program, op)});
            case OpKind::fill:
                return bind_fill(context, op);
            case OpKind::add:
                return bind_add(context, op);
            case OpKind::copy:
                return throttle.applied_to(program, op,
                                           bind_copy(program, op, memory, copied.emplace_back()));
            case OpKind::read:
            case OpKind::write:
                return throttle.applied_to(program, op, nvme.bind(program, op));
            case OpKind::norm:
                return bind_norm(context, op);
            case OpKind::update:
                return saves.applied_to(static_cast<int>(&op - program.ops.data()), bind_update(context, op));
            case OpKind::step_end:
                return step_end.action(train_slots, step_inputs, update_inputs);
            default:
                ZG_ENSURES(is_collective(op.kind));
                return groups.bind(program, op, memory);
        }
    }
};

void Assembly::set_tensor(const std::string& name, std::span<const float> values) {
    parts_->tensors.set(name, values);
}

std::vector<float> Assembly::tensor(schedule::StateKind kind, const std::string& name) const {
    return parts_->tensors.get(kind, name);
}

Programs build_programs(const spec::RunSpec& spec, int world_rank) {
    return {schedule::build_program(spec, world_rank, schedule::Variant::train),
            schedule::build_program(spec, world_rank, schedule::Variant::evaluate)};
}

Assembly::Assembly(const spec::RunSpec& spec,
                   const comm::Communicator& world,
                   const device::Stream& stream,
                   const comm::AbortFlag& abort)
    : Assembly{spec, build_programs(spec, world.rank()), world, stream, abort} {}

Assembly::Assembly(const spec::RunSpec& spec,
                   Programs programs,
                   const comm::Communicator& world,
                   const device::Stream& stream,
                   const comm::AbortFlag& abort,
                   StateAtFirst at_first)
    : parts_{std::make_unique<Parts>(spec, std::move(programs), world, stream, abort)} {
    if (at_first == StateAtFirst::initial) {
        set_initial_values();
    }
    world.go_on_with(&parts_->trainer);
}

Assembly::~Assembly() {
    if (parts_->world.background() == &parts_->trainer) {
        parts_->world.go_on_with(nullptr);
    }
}

void Assembly::set_initial_values() {
    state::set_initial_values(parts_->spec, parts_->model.table, parts_->train, parts_->stream,
                              parts_->model.tensor_rank, parts_->memory);
}

Executor& Assembly::train_executor() {
    return parts_->trainer;
}

const NodeTimes& Assembly::times() const {
    return parts_->times;
}

Executor& Assembly::evaluator() {
    return parts_->evaluator;
}

std::span<const BatchSlot> Assembly::train_slots() const {
    return parts_->train_slots;
}

const BatchSlot& Assembly::evaluate_slot() const {
    return parts_->evaluate_slots.front();
}

kernels::StepInputs& Assembly::step_inputs() {
    return parts_->step_inputs;
}

StepRequests& Assembly::step_requests() {
    return parts_->step_end.step_requests();
}

const StepOutcome& Assembly::outcome() const {
    return parts_->step_end.outcome();
}

void Assembly::watch_logits(std::int64_t row) {
    parts_->watch.set_row(row);
}

std::span<const float> Assembly::watched_logits() const {
    return parts_->watch.logits();
}

std::int64_t Assembly::bytes_moved(int op) const {
    return parts_->train_groups.bytes_moved(op) + parts_->trainer.bytes_moved(op);
}

std::int64_t Assembly::bytes_spared(int op) const {
    return parts_->trainer.bytes_spared(op);
}

schedule::BytesByPurpose Assembly::bytes_moved() const {
    schedule::BytesByPurpose moved{};
    for (std::size_t i = 0; i < parts_->train.ops.size(); ++i) {
        moved[static_cast<std::size_t>(parts_->train.ops[i].purpose)] +=
            parts_->train_groups.bytes_moved(static_cast<int>(i));
    }
    return moved;
}

schedule::BytesByLink Assembly::bytes_by_link() const {
    schedule::BytesByLink moved{};
    for (std::size_t i = 0; i < parts_->train.ops.size(); ++i) {
        if (const auto link = schedule::link_of(parts_->train.ops[i], parts_->train)) {
            moved[static_cast<std::size_t>(*link)] += parts_->trainer.bytes_moved(static_cast<int>(i));
        }
    }
    return moved;
}

const std::vector<std::string>& Assembly::notes() const {
    return parts_->notes;
}

std::vector<PathUse> Assembly::path_uses() const {
    return parts_->nvme.path_uses();
}

const std::string& Assembly::why_not_shared() const {
    return parts_->node.why_not_shared();
}

std::int64_t Assembly::arena_bytes(spec::Tier tier) const {
    return parts_->memory.bytes(tier);
}

std::int64_t Assembly::private_arena_bytes() const {
    return parts_->memory.private_bytes();
}

HeldState Assembly::state() const {
    return {parts_->model,  parts_->train, parts_->memory,
            parts_->stream, parts_->saves, [parts = parts_.get()] { parts->trainer.finish(); }};
}

std::uint64_t Assembly::weights_hash() const {
    return train::weights_hash(parts_->world, parts_->model, parts_->train, parts_->memory);
}

}  // namespace ziggurat::train
