/// Buffers of values, of their gradients and of scratch.
#include <algorithm>
#include <utility>

#include "layout/families/activations.hpp"
#include "layout/families/adapters.hpp"
#include "schedule/expand/expand_phases.hpp"
#include "spec/fates.hpp"

namespace ziggurat::schedule {

using layout::PhaseKind;
using layout::Placement;

BufferId PhaseWriter::value_buffer(UnitId unit, int value, Placement placement, int microbatch, bool kept) {
    const auto& described = unit_of(unit).values[value];
    const bool is_f32 = described.type == layout::ElementType::f32;
    Buffer buffer;
    buffer.name = unit_of(unit).name + "." + described.name;
    buffer.type = is_f32 ? spec::DType::f32 : spec_.precision.compute;
    buffer.bytes =
        rows(placement) * layout::local_width(described, placement, model_.tensor()) * element_bytes(buffer);
    buffer.consumer = MemoryCategory::working_buffers;
    buffer.unit = unit;
    buffer.microbatch = microbatch;
    buffer.is_replicated = model_.tensor() > 1 && placement == Placement::replicated;
    if (kept) {
        keep(buffer, unit, value);
    }
    return draft_.program.add_buffer(std::move(buffer));
}

void PhaseWriter::keep(Buffer& buffer, UnitId unit, int value) const {
    buffer.consumer = MemoryCategory::activations;
    set_fate(buffer, unit, value);
}

void PhaseWriter::set_fate(Buffer& buffer, UnitId unit, int value) const {
    if (!spec_.recompute.fates.empty()) {
        buffer.fate = spec::fate_of(spec_.recompute.fates, layout::activation_name(unit_of(unit), value));
    }
}

void PhaseWriter::set_fate_of_output(BufferId buffer, UnitId unit) {
    set_fate(draft_.program.buffers[buffer], unit, unit_of(unit).output);
}

BufferId PhaseWriter::gradient_buffer(UnitId unit, int value, Placement placement, int microbatch) {
    const int made = value_buffer(unit, value, placement, microbatch, false);
    auto& name = draft_.program.buffers[made].name;
    name = "d " + name;
    return made;
}

BufferId PhaseWriter::boundary_buffer(const std::string& name, int microbatch) {
    Buffer buffer;
    buffer.name = name;
    buffer.type = spec_.precision.compute;
    const auto width =
        outside_ == Placement::split_width ? spec_.model.hidden / model_.tensor() : spec_.model.hidden;
    buffer.bytes = rows(outside_) * width * model_.element_bytes;
    buffer.consumer = MemoryCategory::activations;
    buffer.microbatch = microbatch;
    buffer.is_replicated = model_.tensor() > 1 && outside_ == Placement::replicated;
    return draft_.program.add_buffer(std::move(buffer));
}

bool PhaseWriter::is_kept(UnitId index, int value) const {
    const auto& unit = unit_of(index);
    if (draft_.program.variant != Variant::train) {
        return false;
    }
    if (!model_.runs_backward(index)) {
        return value == unit.output && model_.runs_backward(index + 1);
    }
    const auto is_value = [&](const layout::ValueUse& use) { return use.value == value; };
    for (std::size_t p = 0; p < unit.phases.size(); ++p) {
        const auto& kept = unit.phases[p].kept;
        if (model_.runs_backward(index, static_cast<int>(p)) &&
            std::any_of(kept.begin(), kept.end(), is_value)) {
            return true;
        }
    }
    return value == unit.output;
}

void PhaseWriter::add_workspace(Op& op, std::int64_t bytes) {
    if (bytes == 0) {
        return;
    }
    Buffer buffer;
    buffer.name = "workspace of " + op.label;
    buffer.bytes = bytes;
    buffer.consumer = MemoryCategory::workspaces;
    const int made = draft_.program.add_buffer(std::move(buffer));
    op.writes.push_back(whole(draft_.program, made, Role::workspace));
}

std::int64_t PhaseWriter::tile_workspace_bytes(const Op& op, std::int64_t rows, std::int64_t in) const {
    const auto out = op.column_end - op.column_begin;
    const auto copy = (rows * out * model_.element_bytes + 63) / 64 * 64;
    const auto product = workspaces_->linear(rows, in, out);
    return copy + std::max(product, workspaces_->column_sum(out));
}

std::int64_t PhaseWriter::adapter_workspace_bytes(const layout::Phase& phase) const {
    const auto rank = spec_.model.lora.rank;
    const auto num_rows = rows(phase.writes.front().wanted);
    const layout::AdapterWorkspace parts{phase, rank, num_rows, model_.element_bytes};
    auto product = workspaces_->linear(num_rows, phase.in, parts.inner());
    for (const auto& adapter : phase.adapters) {
        product = std::max(product, workspaces_->linear(num_rows, rank, adapter.columns));
    }
    return parts.products_begin() + product;
}

BufferId PhaseWriter::scratch_buffer(
    std::string name, std::int64_t bytes, MemoryCategory line, UnitId unit, int microbatch) {
    Buffer buffer;
    buffer.name = std::move(name);
    buffer.bytes = bytes;
    buffer.consumer = line;
    buffer.unit = unit;
    buffer.microbatch = microbatch;
    return draft_.program.add_buffer(std::move(buffer));
}

std::int64_t PhaseWriter::workspace_bytes(const layout::Phase& phase, Direction direction) const {
    switch (phase.kind) {
        case PhaseKind::linear: {
            const auto product = workspaces_->linear(rows(phase.writes.front().wanted), phase.in, phase.out);
            const bool sums = direction == Direction::backward_weight;
            return std::max({product, sums ? workspaces_->column_sum(phase.out) : 0,
                             phase.adapters.empty() ? 0 : adapter_workspace_bytes(phase)});
        }
        case PhaseKind::attention: {
            if (draft_.program.variant == Variant::cached) {
                auto sizes = layout::attention_sizes(spec_);
                sizes.batch = 1;
                sizes.seq = model_.tokens;
                return workspaces_->cached_attention(sizes);
            }
            const auto& workspaces = phase.window > 0 ? *windowed_workspaces_ : *workspaces_;
            return direction == Direction::backward
                       ? workspaces.attention_backward(layout::attention_sizes(spec_))
                       : workspaces.attention_forward(layout::attention_sizes(spec_));
        }
        case PhaseKind::logits:  // for others, see expand_head.cpp
            return model_.has_grid()
                       ? workspaces_->linear(rows(phase.writes.front().wanted), phase.in, phase.out)
                       : 0;
        case PhaseKind::norm:
        case PhaseKind::residual_norm:
            return direction == Direction::backward ? workspaces_->column_sum(spec_.model.hidden) : 0;
        case PhaseKind::split_norm:
            return direction == Direction::backward
                       ? workspaces_->column_sum(spec_.model.hidden / model_.tensor())
                       : 0;
        case PhaseKind::head_norm:
            return direction == Direction::backward ? workspaces_->column_sum(spec_.model.head_dim) : 0;
        case PhaseKind::whole_norm: {
            const auto heads = spec_.model.heads / model_.tensor();
            const auto kv_heads = layout::local_kv_heads(spec_.model, static_cast<int>(model_.tensor()));
            return direction == Direction::backward
                       ? workspaces_->column_sum((heads + kv_heads) * spec_.model.head_dim)
                       : 0;
        }
        case PhaseKind::row_sums:
        case PhaseKind::square_sum:
        case PhaseKind::embedding:
        case PhaseKind::rope:
        case PhaseKind::gelu:
        case PhaseKind::gelu_erf:
        case PhaseKind::swiglu:
        case PhaseKind::geglu:
        case PhaseKind::residual:
        case PhaseKind::loss:
            return 0;
    }
    return 0;
}

}  // namespace ziggurat::schedule
