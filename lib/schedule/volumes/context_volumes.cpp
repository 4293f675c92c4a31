#include "schedule/volumes/context_volumes.hpp"

#include "layout/context/context_heads.hpp"
#include "layout/context/ring_round.hpp"
#include "schedule/op_kind.hpp"
#include "schedule/volumes/recompute_inputs.hpp"

namespace ziggurat::schedule {
namespace {

/// Bytes that a rank sends for one attention op of a micro-batch.
struct PassBytes {
    std::int64_t forward = 0, backward = 0;
};

PassBytes bytes_of_exchange(const spec::RunSpec& spec, const ModelLayout& model) {
    const auto ranks = spec.parallel.context;
    const auto bytes_of = [&](bool has_keys) {
        const auto heads = layout::context_heads(spec.model, spec.parallel, has_keys);
        return without_own_part(model.tokens * ranks * heads.part_width() * model.element_bytes, ranks);
    };
    const auto of_pass = bytes_of(true) + bytes_of(false);
    return {of_pass, of_pass};
}

PassBytes bytes_of_ring(const spec::RunSpec& spec, const ModelLayout& model, std::int64_t window) {
    const auto ranks = spec.parallel.context;
    const layout::RingPlan plan{ranks, spec.data.seq, window};
    const auto elements_of_block =
        model.tokens / 2 * 2 * layout::local_kv_heads(spec.model, model.tensor()) * spec.model.head_dim;
    std::int64_t blocks = 0;
    std::int64_t gradients = 0;
    for (int hop = 1; hop <= ranks; ++hop) {
        const int owner = plan.owner_of(model.context_rank, hop - 1);
        blocks += hop < ranks ? plan.arriving(owner, hop).count : 0;
        gradients += plan.arriving(owner, 1).count;
    }
    const auto keys = blocks * elements_of_block * model.element_bytes;
    return {keys, keys + gradients * elements_of_block * 4};
}

}  // namespace

std::int64_t context_bytes_by_formula(const spec::RunSpec& spec, const ModelLayout& model) {
    if (spec.parallel.context == 1) {
        return 0;
    }
    // Selective recomputation repeats attention: a ring sends its blocks again, exchanged heads are kept.
    const bool exchanges = layout::exchanges_heads(spec.parallel);
    const auto again = exchanges ? recompute_inputs(spec, model) : computed_again(spec, model);
    std::int64_t bytes = 0;
    for (const auto& units : model.chunk_units) {
        for (const UnitId unit : units) {
            const auto& phases = model.table.units[unit].phases;
            for (std::size_t p = 0; p < phases.size(); ++p) {
                if (phases[p].kind != layout::PhaseKind::attention) {
                    continue;
                }
                const auto found = again.find(unit);
                const bool is_recomputed = found != again.end() && found->second.phases[p];
                const auto of_pass =
                    exchanges ? bytes_of_exchange(spec, model) : bytes_of_ring(spec, model, phases[p].window);
                bytes += of_pass.forward * (is_recomputed ? 2 : 1);
                bytes += model.runs_backward(unit, static_cast<int>(p)) ? of_pass.backward : 0;
            }
        }
    }
    return spec.train.micro_batches * bytes;
}

}  // namespace ziggurat::schedule
