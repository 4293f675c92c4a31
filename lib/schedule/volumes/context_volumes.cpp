#include "schedule/volumes/context_volumes.hpp"

#include <algorithm>
#include <vector>

#include "layout/context/context_heads.hpp"
#include "layout/context/inner_ring.hpp"
#include "layout/context/ring_round.hpp"
#include "layout/families/activations.hpp"
#include "schedule/op_kind.hpp"
#include "schedule/volumes/recompute_inputs.hpp"

namespace ziggurat::schedule {
namespace {

/// Bytes that a rank sends for one attention op of a micro-batch.
struct PassBytes {
    std::int64_t forward = 0, recomputed = 0, backward = 0;
};

/// True if a phase other than attention needs its output again in backward.
///
/// Attention itself needs it only where the heads are.
bool needs_output_again(const ModelLayout& model, UnitId unit, int attention, const RecomputeInputs& again) {
    const auto& described = model.table.units[unit];
    const auto output = described.phases[attention].writes.front().value;
    std::vector<bool> others;
    for (std::size_t p = 0; p < described.phases.size(); ++p) {
        const auto& reads = described.phases[p].reads;
        if (again.phases[p] && std::ranges::count(reads, output, &layout::ValueUse::value) > 0) {
            return true;
        }
        const auto number = static_cast<int>(p);
        others.push_back(number != attention && model.runs_backward(unit, number));
    }
    return layout::read_by_backward(model.table, unit, others)[output];
}

PassBytes bytes_of_exchange(const spec::RunSpec& spec, const ModelLayout& model, bool has_output_again) {
    const auto ranks = spec.parallel.context;
    const auto bytes_of = [&](bool has_keys) {
        const auto heads = layout::context_heads(spec.model, spec.parallel, has_keys);
        return without_own_part(model.tokens * ranks * heads.part_width() * model.element_bytes, ranks);
    };
    const auto of_pass = bytes_of(true) + bytes_of(false);
    return {of_pass, has_output_again ? of_pass : bytes_of(true), of_pass};
}

/// Blocks that a rank sends for one attention op: keys in each pass, and gradients in backward.
struct SentBlocks {
    std::int64_t keys = 0, gradients = 0;
};

SentBlocks blocks_of_ring(const layout::RingPlan& plan, int rank) {
    SentBlocks sent;
    for (int turn = 0; turn < plan.turns(); ++turn) {
        for (int step = 1; step <= plan.steps(); ++step) {
            const int owner = plan.owner_of(rank, turn, step - 1);
            sent.keys += step < plan.steps() ? plan.needed_in(owner, turn, step).count : 0;
            sent.gradients += plan.needed_in(owner, turn, 1).count;
        }
    }
    return sent;
}

SentBlocks blocks_between_nodes(const layout::RingPlan& plan, int rank) {
    SentBlocks sent;
    for (int turn = 1; turn < plan.turns(); ++turn) {
        sent.keys += plan.needed_from(plan.owner_of(rank, turn - 1, 0), turn).count;
        sent.gradients += plan.needed_after_first(plan.owner_of(rank, turn, 0), turn).count;
    }
    return sent;
}

PassBytes bytes_of_blocks(const spec::RunSpec& spec, const ModelLayout& model, const SentBlocks& sent) {
    const auto elements_of_block =
        model.tokens / 2 * 2 * layout::local_kv_heads(spec.model, model.tensor()) * spec.model.head_dim;
    const auto keys = sent.keys * elements_of_block * model.element_bytes;
    return {keys, keys, keys + sent.gradients * elements_of_block * 4};
}

}  // namespace

ContextBytes context_bytes_by_formula(const spec::RunSpec& spec, const ModelLayout& model) {
    if (spec.parallel.context == 1) {
        return {};
    }
    // Selective recomputation repeats attention: a ring sends its blocks again, exchanged heads are kept.
    const bool exchanges = layout::exchanges_heads(spec.parallel);
    const auto again = exchanges ? recompute_inputs(spec, model) : computed_again(spec, model);
    const int inner = layout::inner_ring(spec);
    ContextBytes bytes;
    if (spec.data.has_pairs && model.stage == model.head_stage) {
        bytes.of_losses = spec.train.micro_batches * 4 * model.tokens * (spec.parallel.context - 1);
    }
    for (const auto& units : model.chunk_units) {
        for (const UnitId unit : units) {
            const auto& phases = model.table.units[unit].phases;
            for (std::size_t p = 0; p < phases.size(); ++p) {
                if (phases[p].kind != layout::PhaseKind::attention) {
                    continue;
                }
                const auto found = again.find(unit);
                const bool is_recomputed = found != again.end() && found->second.phases[p];
                const bool runs_backward = model.runs_backward(unit, static_cast<int>(p));
                const auto in_all_passes = [&](const PassBytes& of_pass) {
                    return spec.train.micro_batches *
                           (of_pass.forward + (is_recomputed ? of_pass.recomputed : 0) +
                            (runs_backward ? of_pass.backward : 0));
                };
                if (exchanges) {
                    const bool has_output_again =
                        is_recomputed && needs_output_again(model, unit, static_cast<int>(p), found->second);
                    bytes.of_ring += in_all_passes(bytes_of_exchange(spec, model, has_output_again));
                    continue;
                }
                const layout::RingPlan plan{spec.parallel.context, inner, spec.data.seq, phases[p].window};
                const int rank = model.context_rank;
                bytes.of_ring += in_all_passes(bytes_of_blocks(spec, model, blocks_of_ring(plan, rank)));
                bytes.between_nodes +=
                    in_all_passes(bytes_of_blocks(spec, model, blocks_between_nodes(plan, rank)));
            }
        }
    }
    return bytes;
}

}  // namespace ziggurat::schedule
