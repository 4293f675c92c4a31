#include "schedule/build_program.hpp"

#include "base/contract.hpp"
#include "schedule/chunk_residency.hpp"
#include "schedule/context/context_heads_pass.hpp"
#include "schedule/context/context_ring_pass.hpp"
#include "schedule/expand/expand.hpp"
#include "schedule/expand/pipeline_order.hpp"
#include "schedule/fuse/fuse_gelu_pass.hpp"
#include "schedule/fuse/fuse_glu_pass.hpp"
#include "schedule/fuse/fuse_glu_product_pass.hpp"
#include "schedule/fuse/fuse_residual_pass.hpp"
#include "schedule/no_flush/no_flush_pass.hpp"
#include "schedule/passes/activation_pass.hpp"
#include "schedule/passes/boundary_pass.hpp"
#include "schedule/passes/control_pass.hpp"
#include "schedule/passes/gather_pass.hpp"
#include "schedule/passes/host_operators_pass.hpp"
#include "schedule/passes/kv_cache_pass.hpp"
#include "schedule/passes/optimizer_pass.hpp"
#include "schedule/passes/receives_pass.hpp"
#include "schedule/passes/recompute_pass.hpp"
#include "schedule/passes/reduce_pass.hpp"
#include "schedule/passes/save_ring_pass.hpp"
#include "schedule/passes/snapshot_pass.hpp"
#include "schedule/passes/transfer_pass.hpp"
#include "schedule/place/derive_dependencies.hpp"
#include "schedule/place/place_buffers.hpp"
#include "schedule/rows/sequence_tiles_pass.hpp"
#include "schedule/tensor/split_pass.hpp"
#include "schedule/tensor/tensor_pieces_pass.hpp"
#include "spec/passes_with_cache.hpp"
#include "spec/stage_state.hpp"
#include "spec/weight_versions.hpp"

namespace ziggurat::schedule {
namespace {

/// Returns the slots of every stage.
std::vector<std::vector<Slot>> slots_of(const spec::RunSpec& spec, Variant variant) {
    if (variant == Variant::train) {
        return pipeline_orders({spec.parallel.pipeline_schedule, spec.parallel.stages,
                                spec.parallel.chunks_per_stage,
                                static_cast<int>(spec::expanded_microbatches(spec))});
    }
    std::vector<std::vector<Slot>> orders;
    for (int stage = 0; stage < spec.parallel.stages; ++stage) {
        orders.emplace_back();
        if (variant == Variant::publish) {
            continue;
        }
        for (int chunk = 0; chunk < spec.parallel.chunks_per_stage; ++chunk) {
            orders.back().push_back({Slot::Pass::forward, 0, chunk});
        }
    }
    return orders;
}

enum class Blocks { named, unnamed };

/// Builds everything except the dependencies.
Program placed(const spec::RunSpec& run,
               const ModelLayout& model,
               Variant variant,
               Blocks blocks,
               const CachedPass& cached = {}) {
    const auto spec = spec::of_stage(run, model.stage);
    const bool has_anything_to_train = model.first_trained_unit < std::ssize(model.table.units);
    ZG_EXPECTS(variant != Variant::train || has_anything_to_train);
    const auto slots = slots_of(spec, variant);
    auto draft = expand(spec, model, variant, slots[model.stage], cached);
    draft.names_blocks = blocks == Blocks::named;
    receives_pass(draft, slots, model);
    context_heads_pass(draft, spec, model);
    fuse_residual_pass(draft, spec, model);
    recompute_pass(draft, spec, model);
    fuse_glu_pass(draft, model);
    fuse_glu_product_pass(draft, spec, model);
    fuse_gelu_pass(draft, spec, model);
    tensor_pieces_pass(draft, spec, model);
    sequence_tiles_pass(draft, spec, model);
    context_ring_pass(draft, spec, model);
    split_pass(draft, spec, model);
    if (variant == Variant::train && spec::has_no_flush(spec.parallel)) {
        no_flush_pass(draft, spec, model);
    }
    gather_pass(draft, spec, model);
    if (variant == Variant::train) {
        reduce_pass(draft, spec, model);
        optimizer_pass(draft, spec, model);
    }
    if (variant == Variant::publish) {
        publication_pass(draft, spec, model);
    }
    activation_pass(draft, spec);
    boundary_pass(draft, spec);
    kv_cache_pass(draft, spec);
    host_operators_pass(draft, model);
    const MoveState move_state = [&](ProgramBuilder moved, const std::vector<bool>& stays) {
        auto on_device = transfer_pass(moved, spec, model, stays);
        control_pass(moved, model);
        if (spec.checkpoint.every && spec.checkpoint.is_async) {
            snapshot_pass(moved.program, model);
            save_ring_pass(moved.program, spec, model);
        }
        place_buffers(moved.program);
        return PlacedState{std::move(moved.program), std::move(on_device)};
    };
    const bool moves_chunks = spec.tiers.movement == spec::Movement::chunks && variant == Variant::train;
    return moves_chunks ? with_chunks_on_device(draft, move_state, spec.tiers.device_budget_bytes)
                        : move_state(std::move(draft), {}).program;
}

/// Builds a program with a KV cache, whose tokens neither tensor nor context ranks divide.
Program placed_cached(spec::RunSpec run, int rank, CachedKind kind, Blocks blocks) {
    const auto passes = spec::cached_passes(run);
    ZG_EXPECTS(passes.sequences > 0);
    run.parallel.sequence = false;
    run.parallel.context = 1;
    const CachedPass cached{.cache = layout::cache_sizes(run, passes),
                            .rows = kind == CachedKind::logits ? passes.logit_rows : passes.prompt_rows,
                            .has_head = kind == CachedKind::logits};
    ModelLayout model{run, rank};
    model.tokens = cached.rows;
    return placed(run, model, Variant::cached, blocks, cached);
}

}  // namespace

Program build_cached_program(const spec::RunSpec& spec, int rank, CachedKind kind) {
    auto program = placed_cached(spec, rank, kind, Blocks::named);
    derive_dependencies(program);
    return program;
}

Program build_placed_cached(const spec::RunSpec& spec, int rank, CachedKind kind) {
    return placed_cached(spec, rank, kind, Blocks::unnamed);
}

Program build_program(const spec::RunSpec& spec, const ModelLayout& model, Variant variant) {
    auto program = placed(spec, model, variant, Blocks::named);
    derive_dependencies(program);
    return program;
}

Program build_program(const spec::RunSpec& spec, int rank, Variant variant) {
    return build_program(spec, ModelLayout{spec, rank}, variant);
}

Program build_timed(const spec::RunSpec& spec, const ModelLayout& model) {
    auto program = placed(spec, model, Variant::train, Blocks::unnamed);
    derive_dependencies(program);
    return program;
}

Program build_placed(const spec::RunSpec& spec, const ModelLayout& model, Variant variant) {
    return placed(spec, model, variant, Blocks::unnamed);
}

}  // namespace ziggurat::schedule
