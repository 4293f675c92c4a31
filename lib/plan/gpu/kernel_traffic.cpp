#include "plan/gpu/kernel_traffic.hpp"

#include <algorithm>

#include "layout/attention_choice.hpp"
#include "layout/context/context_heads.hpp"
#include "layout/cuda_workspaces.hpp"
#include "layout/families/gated_unit.hpp"
#include "layout/parameter_groups.hpp"
#include "plan/gpu/op_operands.hpp"
#include "plan/gpu/product_kernels.hpp"

namespace ziggurat::plan {
namespace {

using layout::PhaseKind;
using schedule::Direction;
using schedule::Op;
using schedule::OpClass;
using schedule::OpKind;
using schedule::Role;

using Kernels = std::vector<KernelUse>;

Kernels norm_kernels(const OpOperands& use, layout::NormKind norm) {
    const bool is_layer_norm = norm == layout::NormKind::layer_norm;
    if (is_forward(use.op())) {
        if (!use.reads(Role::branch)) {
            return {{is_layer_norm ? "layer_norm_forward" : "rms_norm_forward", 1, use.all_but()}};
        }
        return {
            {is_layer_norm ? "residual_layer_norm_forward" : "residual_rms_norm_forward", 1, use.all_but()}};
    }
    Kernels kernels{
        {is_layer_norm ? "layer_norm_backward" : "rms_norm_backward", 1,
         use.all_but({Role::d_gain, Role::d_bias, Role::d_branch, Role::samples, Role::step_inputs})}};
    if (use.writes(Role::d_gain) || use.writes(Role::d_bias)) {
        kernels.push_back(
            {"sums of columns", 1, use.stored_or_added(Role::d_gain) + use.stored_or_added(Role::d_bias)});
    }
    if (use.sums_apart(Role::d_input)) {
        kernels.push_back({"dropout_backward", 1, 2 * use.written(Role::d_input)});
    }
    if (use.writes(Role::d_branch)) {
        kernels.push_back({"dropout_backward", 1, use.written(Role::d_input) + use.written(Role::d_branch)});
    }
    return kernels;
}

/// Kernels of a norm whose rows are divided over ranks: sums of a part of each row, and its norm.
Kernels split_norm_kernels(const OpOperands& use, PhaseKind kind) {
    const bool sums = kind == PhaseKind::row_sums;
    if (is_forward(use.op())) {
        return {{sums ? "row_sums" : "split_norm_forward", 1, use.all_but()}};
    }
    Kernels kernels{
        {sums ? "row_sums_backward" : "split_norm_backward", 1, use.all_but({Role::d_gain, Role::d_bias})}};
    if (use.writes(Role::d_gain) || use.writes(Role::d_bias)) {
        kernels.push_back(
            {"sums of columns", 1, use.stored_or_added(Role::d_gain) + use.stored_or_added(Role::d_bias)});
    }
    if (use.sums_apart(Role::d_input)) {
        kernels.push_back({"dropout_backward", 1, 2 * use.written(Role::d_input)});
    }
    return kernels;
}

/// Kernels of the norm of heads. Backward overwrites the gradient of queries and keys, not of values.
Kernels head_norm_kernels(const OpOperands& use, const spec::RunSpec& spec) {
    if (is_forward(use.op())) {
        return {{"head_norm_forward", 1, use.all_but()}};
    }
    const auto heads = spec.model.heads / spec.parallel.tensor;
    const auto kv_heads = layout::local_kv_heads(spec.model, spec.parallel.tensor);
    const auto normalized = use.written(Role::d_input) / (heads + 2 * kv_heads) * (heads + kv_heads);
    Kernels kernels{{"head_norm_backward", 1, 3 * normalized + use.read(Role::gain)}};
    if (use.writes(Role::d_gain)) {
        kernels.push_back({"sums of columns", 1, use.stored_or_added(Role::d_gain)});
    }
    return kernels;
}

/// Kernels of the norm of all queries and keys, which neither reads nor writes values in some kernels.
Kernels whole_norm_kernels(const OpOperands& use, const layout::Phase& phase, const spec::RunSpec& spec) {
    const auto heads = spec.model.heads / spec.parallel.tensor;
    const auto kv_heads = layout::local_kv_heads(spec.model, spec.parallel.tensor);
    const auto normalized = use.read(Role::input) / (heads + 2 * kv_heads) * (heads + kv_heads);
    if (phase.kind == PhaseKind::square_sum) {
        return is_forward(use.op())
                   ? Kernels{{"square_sums", 1, normalized + use.written(Role::output)}}
                   : Kernels{{"square_sums_backward", 1, 3 * normalized + use.read(Role::d_output)}};
    }
    if (is_forward(use.op())) {
        return {{"whole_norm_forward", 1, use.all_but()}};
    }
    Kernels kernels{{"whole_norm_backward", 1,
                     3 * normalized + use.read(Role::gain) + use.read(Role::square_sums) +
                         use.written(Role::d_square_sums)}};
    if (use.writes(Role::d_gain)) {
        kernels.push_back({"sums of columns", 1, use.stored_or_added(Role::d_gain)});
    }
    return kernels;
}

/// Kernels of rotary embeddings: queries and keys are rotated in place, in each head only the rotary
/// channels.
Kernels rope_kernels(const OpOperands& use, const spec::RunSpec& spec) {
    const auto& model = spec.model;
    const auto heads = model.heads / spec.parallel.tensor;
    const auto kv_heads = layout::local_kv_heads(model, spec.parallel.tensor);
    const auto qkv = use.written(is_forward(use.op()) ? Role::output : Role::d_input);
    const auto turned =
        qkv / ((heads + 2 * kv_heads) * model.head_dim) * (heads + kv_heads) * model.rotary_channels();
    return {{"rope", 1, 2 * turned + use.read(Role::positions) + use.read(Role::rotations)}};
}

/// Kernels of attention: products and sums stay on the chip, so no bytes are counted.
Kernels attention_kernels(const OpOperands& use,
                          const layout::AttentionSizes& sizes,
                          layout::AttentionKernel kernel) {
    const bool forward = is_forward(use.op());
    // The last round of a ring also rounds its results.
    const bool rounds = forward && use.written(Role::merged) > 0 && use.writes(Role::output);
    switch (kernel) {
        case layout::AttentionKernel::host:
            return {};
        case layout::AttentionKernel::cuda_cores:
            return {{"attention", forward ? (rounds ? 2 : 1) : 2}};  // gradients: queries; keys and values
        case layout::AttentionKernel::tensor_cores:
            return {{"attention", forward ? (rounds ? 2 : 1) : 3}};  // the same, and outputs
        case layout::AttentionKernel::cudnn: {
            const auto piece = layout::CudaWorkspaces::attention_piece(sizes);
            const auto pieces = (sizes.batch / piece->sequences) * (sizes.kv_heads / piece->kv_heads);
            return {{"attention", forward ? 1 : pieces}};
        }
    }
    return {};
}

/// Kernels of lookups: rows of tables are counted for each token, and twice if the kernel adds to them.
Kernels embedding_kernels(const OpOperands& use, std::int64_t value_bytes, std::int64_t gradient_bytes) {
    const auto& op = use.op();
    if (is_forward(op)) {
        if (op.column_end > 0) {
            return {{"embedding_tile_forward", 1, 2 * value_bytes + use.read(Role::tokens)}};
        }
        const auto looked_up = use.reads(Role::position_table) ? value_bytes : 0;
        return {{op.segment >= 0 ? "embedding_positions_forward" : "embedding_forward", 1,
                 2 * value_bytes + looked_up + use.read(Role::tokens) + use.read(Role::positions)}};
    }
    Kernels kernels;
    for (const auto& [table, indices] :
         {std::pair{Role::d_table, Role::tokens}, {Role::d_position_table, Role::positions}}) {
        if (!use.writes(table)) {
            continue;
        }
        if (!op.accumulate) {
            kernels.push_back({"embedding_backward zeros", 1, use.written(table)});
        }
        kernels.push_back({"embedding_backward", 1, value_bytes + 2 * gradient_bytes + use.read(indices)});
    }
    return kernels;
}

const char* loss_kernel(const OpOperands& use) {
    if (use.writes(Role::token_weights)) {
        return "preference_weights";
    }
    if (!use.reads(Role::statistics) && !use.writes(Role::statistics)) {
        return use.writes(Role::d_input) ? "cross_entropy" : "cross_entropy_loss_only";
    }
    if (!use.reads(Role::input)) {
        return use.writes(Role::losses) ? "losses_of_statistics" : "merge_statistics";
    }
    return use.writes(Role::d_input) ? "cross_entropy_tile_gradient" : "cross_entropy_tile";
}

/// Returns one kernel for each range of bytes.
template <class BytesOf>
Kernels by_run(const char* kernel, const schedule::Operand& operand, int launches, const BytesOf& bytes_of) {
    Kernels kernels;
    for (const auto& run : operand.runs) {
        kernels.push_back({kernel, launches, bytes_of(run.bytes)});
    }
    return kernels;
}

void append(Kernels& kernels, const Kernels& more) {
    kernels.insert(kernels.end(), more.begin(), more.end());
}

/// Returns one kernel for each range with one weight decay (train/ops/bind_state_ops.cpp).
///
/// A publication has one for each of its ranges.
Kernels update_kernels(const schedule::Program& program,
                       const Op& op,
                       const spec::RunSpec& spec,
                       const schedule::ModelLayout& model) {
    Kernels kernels;
    if (op.purpose == schedule::Purpose::publication) {
        for (const auto& operand : op.writes) {
            append(kernels, by_run("convert", operand, 1, [&](std::int64_t bytes) {
                       return bytes / model.element_bytes * (4 + model.element_bytes);
                   }));
        }
        return kernels;
    }
    // The kernel reads and writes master and both moments.
    const auto element_bytes =
        3 * 2 * 4 + spec::element_bytes(spec.precision.gradient) +
        (program.find_write(op, Role::parameters) == nullptr ? 0 : model.element_bytes);
    for (const auto& operand : op.writes) {
        if (operand.role != Role::master) {
            continue;
        }
        const auto& buffer = program.buffer(operand.buffer);
        const std::size_t unit = buffer.unit;
        const auto groups = layout::parameter_groups(spec, model.table.units.at(unit), model.flats.at(unit));
        const auto width = schedule::element_bytes(buffer);
        for (const auto& run : operand.runs) {
            const auto begin = buffer.first_element + run.offset / width;
            const auto end = begin + run.bytes / width;
            for (const auto& group : groups) {
                const auto count = std::min(end, group.range.end) - std::max(begin, group.range.begin);
                if (count > 0) {
                    kernels.push_back({"adamw_update", 1, count * element_bytes});
                    if (spec.train.average
                            .is_on()) {  // it reads the master, and reads and writes the average
                        kernels.push_back({"average_weights", 1, count * 3 * 4});
                    }
                }
            }
        }
    }
    return kernels;
}

/// Returns the kernel of an op that only rearranges heads or positions; no launches for another op.
KernelUse rearranging_kernel(const OpOperands& use, const spec::RunSpec& spec) {
    const auto bytes_of = [&](Role role) { return use.read(role) + use.written(role); };
    if (bytes_of(Role::rows_by_rank) > 0) {
        return {"exchange_blocks", 1, use.all_but()};
    }
    if (use.written(Role::kv) > 0) {
        return {"pack_ring_keys", 1, 2 * use.written(Role::kv)};  // reads only these columns
    }
    if (use.read(Role::d_kv) > 0 && use.written(Role::d_input) > 0) {
        return {"join_ring_gradients", 1, use.all_but()};
    }
    if (use.read(Role::d_kv) > 0 && use.reads(Role::d_addend)) {
        return {"add_to", 1, use.all_but()};
    }
    if (bytes_of(Role::heads_by_rank) == 0) {
        return {"", 0, 0};
    }
    const auto output = layout::context_heads(spec.model, spec.parallel, false);
    const bool has_keys = bytes_of(Role::heads_by_rank) != use.rows() * output.ranks * output.part_width() *
                                                               spec::element_bytes(spec.precision.compute);
    return {use.writes(Role::heads_by_rank) ? "split_heads" : "join_heads", has_keys ? 3 : 1, use.all_but()};
}

/// Returns the kernels of fills, sums, norms of gradients and updates.
Kernels state_kernels(const schedule::Program& program,
                      const Op& op,
                      const spec::RunSpec& spec,
                      const schedule::ModelLayout& model) {
    const auto same = [](std::int64_t bytes) { return bytes; };
    Kernels kernels;
    switch (class_of(op.kind)) {
        case OpClass::fill:
            for (const auto& operand : op.writes) {
                append(kernels, by_run("fill_zero", operand, 1, same));
            }
            return kernels;
        case OpClass::add:
            for (const auto& operand : op.writes) {
                const auto width = schedule::element_bytes(program.buffer(operand.buffer));
                const auto moved = (op.accumulate ? 2 : 1) * width + 4;  // the addends are float
                append(kernels, by_run(op.accumulate ? "add_to" : "convert", operand, 1,
                                       [&](std::int64_t bytes) { return bytes / width * moved; }));
            }
            return kernels;
        case OpClass::norm:
            for (const auto& operand : op.reads) {
                if (operand.role == Role::gradient) {
                    append(kernels, by_run("sum_of_squares", operand, 2, same));  // and its carries
                }
            }
            return kernels;
        case OpClass::update:
            return update_kernels(program, op, spec, model);
        case OpClass::compute:
        case OpClass::loss:
        case OpClass::step_end:
        case OpClass::collective:
        case OpClass::copy:
        case OpClass::read:
        case OpClass::write:
            return {};
    }
    return {};
}

}  // namespace

std::vector<KernelUse> KernelTraffic::of(const Op& op) const {
    if (program_.lanes.at(op.lane).engine != schedule::Engine::compute) {
        return {};
    }
    if (op.kind != OpKind::compute && op.kind != OpKind::loss) {
        return state_kernels(program_, op, spec_, model_);
    }
    const OpOperands use{program_, op};
    const auto& phase = model_.table.units.at(op.unit).phases.at(op.phase);
    switch (phase.kind) {
        case PhaseKind::embedding: {
            const auto width = spec_.model.hidden / (model_.has_grid() ? model_.tensor() : 1);
            const auto elements = use.rows() * width;
            return embedding_kernels(use, elements * model_.element_bytes, elements * 4);
        }
        case PhaseKind::row_sums:
        case PhaseKind::split_norm:
            return split_norm_kernels(use, phase.kind);
        case PhaseKind::norm:
        case PhaseKind::residual_norm:
            return norm_kernels(use, model_.table.norm);
        case PhaseKind::linear:
        case PhaseKind::logits:
            if (use.reads(Role::d_addend)) {  // the sum of the gradients of two readers
                return {{"residual_forward", 1, use.all_but()}};
            }
            if (const auto unit = layout::gated_unit_before(model_.table.units.at(op.unit), op.phase);
                unit && use.reads(Role::activation_input)) {
                return glu_product_kernels(
                    use, *unit,
                    has_fused_products_ && layout::CudaWorkspaces::fuses_glu(phase.in, phase.out));
            }
            return product_kernels(use, phase, model_.element_bytes, spec_.model.lora.rank);
        case PhaseKind::head_norm:
            return head_norm_kernels(use, spec_);
        case PhaseKind::square_sum:
        case PhaseKind::whole_norm:
            return whole_norm_kernels(use, phase, spec_);
        case PhaseKind::rope:
            return rope_kernels(use, spec_);
        case PhaseKind::attention: {
            if (auto moved = rearranging_kernel(use, spec_); moved.launches > 0) {
                return {std::move(moved)};
            }
            const auto sizes = layout::attention_sizes(spec_);
            const bool trains = program_.variant == schedule::Variant::train;
            return attention_kernels(
                use, sizes,
                layout::choose_attention(layout::attention_use(spec_, trains, phase.window), sizes,
                                         layout::any_capability, has_cudnn_)
                    .kernel);
        }
        case PhaseKind::gelu:
            return {{is_forward(op) ? "gelu_forward" : "gelu_backward", 1, use.all_but()}};
        case PhaseKind::gelu_erf:
            return {{is_forward(op) ? "gelu_erf_forward" : "gelu_erf_backward", 1, use.all_but()}};
        case PhaseKind::swiglu:
            return {{is_forward(op) ? "swiglu_forward" : "swiglu_backward", 1, use.all_but()}};
        case PhaseKind::geglu:
            return {{is_forward(op) ? "geglu_forward" : "geglu_backward", 1, use.all_but()}};
        case PhaseKind::residual:
            return {{is_forward(op) ? "residual_forward" : "dropout_backward", 1, use.all_but()}};
        case PhaseKind::loss:
            // The weights of pairs are cleared first.
            return {{loss_kernel(use), use.writes(Role::token_weights) ? 2 : 1, use.all_but()}};
    }
    return {};
}

}  // namespace ziggurat::plan
