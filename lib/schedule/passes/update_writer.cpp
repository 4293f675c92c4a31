#include "schedule/passes/update_writer.hpp"

#include <numeric>
#include <string>
#include <utility>

#include "base/contract.hpp"
#include "spec/depths.hpp"
#include "spec/weight_versions.hpp"

namespace ziggurat::schedule {

namespace {

/// Returns the bytes of one fp32 value of each element.
std::int64_t vector_bytes(const std::vector<layout::UnitRange>& runs) {
    std::int64_t elements = 0;
    for (const auto& run : runs) {
        elements += run.range.size();
    }
    return 4 * elements;
}

}  // namespace

bool updates_by_unit(const spec::RunSpec& spec) {
    return spec.overlap.optimizer_with_backward || spec.overlap.delayed_update ||
           spec.optimizer.clip == spec::ClipPolicy::per_unit;
}

bool clips_in_backward(const spec::RunSpec& spec) {
    return spec.overlap.optimizer_with_backward && spec.optimizer.clip == spec::ClipPolicy::per_unit;
}

Op unit_clip(ProgramBuilder& draft, const ModelLayout& model, UnitId unit) {
    auto& program = draft.program;
    const auto& buffers = program.trainer_buffers.unit_clips.at(unit);
    Op op;
    op.kind = OpKind::unit_clip;
    op.purpose = Purpose::control;
    op.direction = Direction::backward;
    op.unit = unit;
    op.label = "norm and clip factor of " + model.table.units[unit].name;
    const bool is_shared = model.is_shared_by_stages(unit);
    std::vector<int> owners;
    for (int rank = 0; rank < model.mesh.ranks(); ++rank) {
        const int stage = model.mesh.coordinate(spec::Axis::pipeline, rank);
        if (is_shared ? stage == 0 || stage == model.head_stage : stage == model.stage) {
            owners.push_back(rank);
        }
    }
    if (owners.size() > 1) {
        const bool are_all = std::ssize(owners) == model.mesh.ranks();
        op.group = program.group(are_all     ? "all"
                                 : is_shared ? "ranks of first and last stage"
                                             : "ranks of a stage",
                                 owners);
    }
    op.lane = program.lane(Engine::step_end);
    op.reads.push_back(whole(program, buffers.exact_sums, Role::exact_sums));
    op.reads.push_back(whole(program, program.trainer_buffers.update_inputs, Role::update_inputs));
    op.writes.push_back(whole(program, buffers.update_inputs, Role::update_inputs));
    return op;
}

UpdateWriter::UpdateWriter(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model)
    : draft_{draft}, spec_{spec}, model_{model}, inputs_{draft.program.trainer_buffers.update_inputs} {
    if (spec::speculates(spec)) {
        auto made = draft.program.buffers[inputs_];
        made.name = "inputs of speculative updates";
        made.lifetime = Lifetime::transient;
        speculative_inputs_ = draft.program.add_buffer(std::move(made));
    }
}

Op UpdateWriter::pass_on_inputs() {
    auto& program = draft_.program;
    Op op;
    op.kind = OpKind::copy;
    op.purpose = Purpose::control;
    op.label = "inputs of updates";
    op.lane = program.lane(Engine::step_end);
    op.reads.push_back(whole(program, program.trainer_buffers.step_inputs, Role::step_inputs));
    op.writes.push_back(whole(program, inputs_of_backward(), Role::update_inputs));
    return op;
}

Op UpdateWriter::step_end() {
    auto& program = draft_.program;
    Op op;
    op.kind = OpKind::step_end;
    op.purpose = Purpose::control;
    op.label = "norm and clip factor";
    std::vector<int> members(model_.mesh.ranks());
    std::iota(members.begin(), members.end(), 0);
    const bool is_of_stage = spec::has_no_flush(spec_.parallel);
    if (is_of_stage) {
        std::erase_if(members, [&](int rank) {
            return model_.mesh.coordinate(spec::Axis::pipeline, rank) != model_.stage;
        });
    }
    if (members.size() > 1) {
        op.group = program.group(is_of_stage ? "ranks of a stage" : "all", members);
    }
    op.lane = program.lane(Engine::step_end);
    op.reads.push_back(whole(program, program.trainer_buffers.exact_sums, Role::exact_sums));
    op.reads.push_back(whole(program, program.trainer_buffers.step_inputs, Role::step_inputs));
    if (!spec_.overlap.optimizer_with_backward || speculative_inputs_ >= 0) {
        op.writes.push_back(whole(program, inputs_, Role::update_inputs));
    }
    // A rank without its own gradients waits only for the losses of its passes.
    const auto tensor = spec_.data.has_pairs ? BatchTensor::pair_results : BatchTensor::losses;
    if (model_.counts_losses()) {
        const auto made = buffers_written_as(role_of(tensor));
        for (int m = 0; m < program.microbatches; ++m) {
            const int losses = program.trainer_buffers.of(tensor, m);
            if (made.contains(losses)) {
                op.reads.push_back(whole(program, losses, role_of(tensor)));
            }
        }
    }
    return op;
}

Op UpdateWriter::update(int chunk,
                        const std::vector<layout::UnitRange>& runs,
                        UpdatePart part,
                        BufferId undo) {
    auto& program = draft_.program;
    Op op;
    op.kind = OpKind::update;
    op.chunk = chunk;
    op.label = (part == UpdatePart::speculative ? "speculative update of chunk "
                : part == UpdatePart::redo      ? "repeated update of chunk "
                : part == UpdatePart::delayed   ? "delayed update of chunk "
                                                : "update of chunk ") +
               std::to_string(chunk) +
               (updates_by_unit(spec_) ? ", " + model_.table.units[runs.front().unit].name : "");
    const auto kept_vectors = undo < 0 ? 0 : program.buffers[undo].bytes / vector_bytes(runs);
    std::int64_t undo_offset = 0;
    for (const auto& run : runs) {
        const auto range = run.range;
        const auto& state = draft_.state.units[run.unit];
        int vectors = 0;
        const auto both = [&](BufferId buffer, Role role) {
            const bool is_kept = vectors++ < kept_vectors;
            if (part != UpdatePart::redo || !is_kept) {
                op.reads.push_back({buffer, role, {run_in(buffer, range)}});
            }
            op.writes.push_back({buffer, role, {run_in(buffer, range)}});
        };
        const BufferId gradients = state[StateKind::gradients];
        const BufferId parameters = state[StateKind::parameters];
        op.reads.push_back({gradients, Role::gradient, {run_in(gradients, range)}});
        both(model_.has_master() ? state[StateKind::master] : parameters, Role::master);
        both(state[StateKind::first_moment], Role::first_moment);
        both(state[StateKind::second_moment], Role::second_moment);
        if (spec_.train.average.is_on()) {
            both(state[StateKind::average], Role::average);
        }
        if (model_.has_master() && part != UpdatePart::delayed) {
            op.writes.push_back({parameters, Role::parameters, {run_in(parameters, range)}});
        }
        if (const BufferId sums = program.trainer_buffers.update_sums; sums >= 0) {
            const auto slots = TrainerBuffers::range_of_update_sums(run.unit, part == UpdatePart::redo);
            const Operand of_unit{sums, Role::update_sums, {slots}};
            op.reads.push_back(of_unit);
            op.writes.push_back(of_unit);
        }
        if (undo >= 0) {
            const ByteRange before{undo_offset, kept_vectors * vector_bytes({run})};
            auto& operands = part == UpdatePart::speculative ? op.writes : op.reads;
            operands.push_back({undo, Role::undo, {before}});
            undo_offset += before.bytes;
        }
    }
    const auto& of_units = program.trainer_buffers.unit_clips;
    const auto inputs = !of_units.empty()                 ? of_units[runs.front().unit].update_inputs
                        : part == UpdatePart::speculative ? speculative_inputs_
                                                          : inputs_;
    op.reads.push_back(whole(program, inputs, Role::update_inputs));
    if (part == UpdatePart::redo) {
        op.predicate = whole(program, inputs_, Role::update_inputs);
    }
    return op;
}

Op UpdateWriter::round_masters(int chunk, const std::vector<layout::UnitRange>& runs) {
    const bool is_saved_on_its_way = draft_.program.variant == Variant::train &&
                                     spec_.tiers.parameters.nvme > 0 && spec_.checkpoint.every &&
                                     spec_.checkpoint.is_async;
    Op op;
    op.kind = OpKind::update;
    op.purpose = Purpose::publication;
    op.chunk = chunk;
    op.label = "rounding of chunk " + std::to_string(chunk);
    for (const auto& [unit, range] : runs) {
        const auto& state = draft_.state.units[unit];
        const BufferId master = state[StateKind::master];
        const BufferId parameters = state[StateKind::parameters];
        op.reads.push_back({master, Role::master, {run_in(master, range)}});
        op.writes.push_back({parameters, Role::parameters, {run_in(parameters, range)}});
        if (is_saved_on_its_way) {
            op.reads.push_back(op.writes.back());
        }
    }
    return op;
}

BufferId UpdateWriter::add_undo(int chunk, const std::vector<layout::UnitRange>& runs, bool has_slots) {
    const int vectors = has_slots ? (model_.has_master() ? 0 : 1) : spec_.train.average.is_on() ? 4 : 3;
    if (vectors == 0) {
        return -1;
    }
    Buffer made;
    made.name = "undo of chunk " + std::to_string(chunk);
    made.tier = spec::Tier::host;
    made.consumer = MemoryCategory::undo;
    made.bytes = vectors * vector_bytes(runs);
    return draft_.program.add_buffer(std::move(made));
}

std::vector<Op> UpdateWriter::publish(const std::vector<UnitId>& units) {
    const int inner = model_.spans.parameters;
    const int span = model_.spans.optimizer;
    if (inner == span) {
        return {};
    }
    auto& program = draft_.program;
    Op op;
    op.kind = OpKind::all_gather;
    op.purpose = Purpose::publication;
    op.unit = units.front();
    op.group = data_group(program, model_, inner, span);
    op.lane = program.lane(Engine::collective, op.group);
    op.payload = spec_.precision.compute;
    op.label = "publication of " + model_.table.units[units.front()].name;
    const auto members =
        draft_.names_blocks ? layout::data_group(model_.data_rank, inner, span) : std::vector<int>{};
    for (const UnitId u : units) {
        const BufferId buffer = draft_.state.units[u][StateKind::parameters];
        const auto& shards = model_.shards[u];
        for (const int member : members) {
            op.blocks.push_back(run_in(buffer, shards.shard(span, member)));
        }
        op.reads.push_back({buffer, Role::input, {run_in(buffer, shards.shard(span, model_.data_rank))}});
        op.writes.push_back(whole(program, buffer, Role::output));
    }
    return {std::move(op)};
}

std::unordered_set<int> UpdateWriter::buffers_written_as(Role role) const {
    std::unordered_set<int> made;
    for (const auto& op : draft_.program.ops) {
        if (const auto* written = draft_.program.find_write(op, role)) {
            made.insert(written->buffer);
        }
    }
    return made;
}

ByteRange UpdateWriter::run_in(BufferId buffer, layout::ElementRange range) const {
    const auto& held = draft_.program.buffers[buffer];
    const std::int64_t width = element_bytes(held);
    const ByteRange run{(range.begin - held.first_element) * width, range.size() * width};
    ZG_ENSURES(run.offset >= 0 && run.offset + run.bytes <= held.bytes);
    return run;
}

}  // namespace ziggurat::schedule
