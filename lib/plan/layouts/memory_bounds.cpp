#include "plan/layouts/memory_bounds.hpp"

#include <algorithm>
#include <vector>

#include "layout/mesh.hpp"
#include "layout/stage_layers.hpp"
#include "plan/layouts/small_run.hpp"
#include "schedule/build_program.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/place/place_buffers.hpp"
#include "schedule/volumes/saved_activations.hpp"
#include "spec/stage_state.hpp"
#include "spec/virtual_stages.hpp"
#include "spec/weight_versions.hpp"

namespace ziggurat::plan {
namespace {

using layout::StateKind;
using schedule::Buffer;
using schedule::Lifetime;
using schedule::MemoryCategory;
using schedule::Program;

/// Returns the maximum of live bytes of the device, over the compute ops of layers and of the head.
///
/// Leases and gradients count for the unit of the op only: in a stage of many layers, other units are before
/// and after it.
std::int64_t max_live_bytes(const Program& program) {
    const auto ranges = schedule::live_ranges(program);
    std::vector<std::vector<std::size_t>> begins(program.ops.size());
    std::vector<std::vector<std::size_t>> ends(program.ops.size());
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
        const auto& buffer = program.buffers[b];
        if (buffer.lifetime == Lifetime::transient && buffer.tier == spec::Tier::device &&
            ranges[b].first >= 0) {
            begins[static_cast<std::size_t>(ranges[b].first)].push_back(b);
            ends[static_cast<std::size_t>(ranges[b].last)].push_back(b);
        }
    }
    std::int64_t live = 0;
    std::map<schedule::UnitId, std::int64_t> of_unit;
    std::int64_t max = 0;
    const auto add = [&](const Buffer& buffer, std::int64_t bytes) {
        const bool is_state =
            buffer.consumer == MemoryCategory::leases || buffer.consumer == MemoryCategory::gradients;
        (is_state ? of_unit[buffer.unit] : live) += bytes;
    };
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        for (const auto b : begins[i]) {
            add(program.buffers[b], program.buffers[b].bytes);
        }
        const auto& op = program.ops[i];
        if (op.kind == schedule::OpKind::compute && op.unit >= 1 && op.microbatch >= 0) {
            max = std::max(max, live + of_unit[op.unit]);
        }
        for (const auto b : ends[i]) {
            add(program.buffers[b], -program.buffers[b].bytes);
        }
    }
    return max;
}

/// Returns the forward slots whose activations a stage keeps when its first backward slot begins.
std::int64_t slots_in_flight(const spec::RunSpec& run, int stage) {
    const auto& parallel = run.parallel;
    const auto micro_batches = run.train.micro_batches;
    const std::int64_t after = parallel.stages - 1 - stage;
    if (run.train.is_by_layer() || parallel.pipeline_schedule == spec::PipelineSchedule::gpipe) {
        return micro_batches;
    }
    if (spec::turns_back(parallel)) {
        return 1;
    }
    if (spec::has_no_flush(parallel)) {
        return after + 1;
    }
    if (parallel.chunks_per_stage == 1) {
        return std::min(after + 1, micro_batches);
    }
    // Groups of `stages` micro-batches pass all chunks; the last group may have fewer.
    const std::int64_t stages = parallel.stages;
    std::int64_t left = 2 * after + (parallel.chunks_per_stage - 1) * stages + 1;
    std::int64_t slots = 0;
    for (std::int64_t round = 0; left > 0; ++round, left -= stages) {
        const auto begun = round / parallel.chunks_per_stage * stages;
        slots += std::clamp<std::int64_t>(micro_batches - begun, 0, std::min(stages, left));
    }
    return slots;
}

std::int64_t share(std::int64_t bytes, double part) {
    return static_cast<std::int64_t>(static_cast<double>(bytes) * part);
}

}  // namespace

MemoryBounds::StageBytes MemoryBounds::measured(const spec::RunSpec& run, Position position) {
    const int stages = position == Position::only ? 1 : 2;
    const int stage = position == Position::last ? 1 : 0;
    const auto& sharding = run.sharding;
    const bool is_sharded = sharding.optimizer > 1 || sharding.gradients > 1 || sharding.parameters > 1;
    const auto small = small_run(run, stages, 1, is_sharded ? 2 : 1);
    const auto rank = layout::Mesh{small.parallel}.neighbour(spec::Axis::pipeline, 0, stage);
    const schedule::ModelLayout model{small, rank};
    const schedule::UnitId layer{stage + 1};
    StageBytes made;
    const bool has_fates = !run.recompute.fates.empty();  // the formula covers only kinds of recomputation
    made.kept = has_fates ? 0 : schedule::kept_bytes(schedule::kept_by_formula(small, model, layer), small);
    if (model.first_trained_unit == std::ssize(model.table.units)) {
        return made;  // a run that trains nothing keeps nothing
    }
    const auto program = schedule::build_placed(small, model, schedule::Variant::train);
    for (const auto& buffer : program.buffers) {
        // State that stays on the host has no share of tiers.home on the device.
        if (buffer.lifetime == Lifetime::persistent && buffer.state != StateKind::none &&
            !buffer.stays_on_host && buffer.reuses < 0) {
            const auto degree = layout::shard_degree(buffer.state, model.spans);
            (buffer.unit == layer ? made.layer : made.others)[buffer.state] += buffer.bytes * degree;
        }
    }
    const auto in_flight = slots_in_flight(small, stage);
    made.working = has_fates ? 0 : std::max<std::int64_t>(0, max_live_bytes(program) - in_flight * made.kept);
    return made;
}

const MemoryBounds::StageBytes& MemoryBounds::bytes_of(const spec::RunSpec& run, Position position) {
    const auto& sharding = run.sharding;
    const auto& recompute = run.recompute;
    const Key key{position,
                  run.parallel.tensor,
                  run.parallel.context,
                  run.parallel.sequence,
                  run.train.micro_batch,
                  recompute.kind,
                  recompute.every,
                  sharding.parameters > 1,
                  sharding.gradients > 1,
                  sharding.optimizer > 1};
    const auto known = known_.find(key);
    return known != known_.end() ? known->second : known_.emplace(key, measured(run, position)).first->second;
}

const MemoryBounds::LayerCounts& MemoryBounds::layers_of(const spec::RunSpec& run, int stage) {
    const auto& parallel = run.parallel;
    const CountsKey key{stage, parallel.stages, parallel.chunks_per_stage, run.recompute.kind,
                        run.recompute.every};
    const auto known = known_counts_.find(key);
    if (known != known_counts_.end()) {
        return known->second;
    }
    const auto layers = layout::stage_layers(run);
    LayerCounts made{0, run.model.layers};
    for (int chunk = 0; chunk < parallel.chunks_per_stage; ++chunk) {
        const auto of_chunk = layers[spec::virtual_stage(stage, chunk, parallel)];
        made.of_stage += of_chunk;
        made.of_chunk = std::min(made.of_chunk, of_chunk);
    }
    return known_counts_.emplace(key, made).first->second;
}

std::int64_t MemoryBounds::stage_bytes(const spec::RunSpec& whole, Position position, int stage) {
    const auto run = spec::of_stage(whole, stage);
    const auto& bytes = bytes_of(run, position);
    const auto& layers = layers_of(run, stage);
    const layout::Spans spans{run.sharding.parameters, run.sharding.gradients, run.sharding.optimizer,
                              run.parallel.data};
    std::int64_t sum = 0;
    const auto add_state = [&](const auto& kinds, std::int64_t times) {
        for (const auto& [kind, each] : kinds) {
            const auto* home = layout::home_of(kind, run.tiers);
            sum += share(times * each / layout::shard_degree(kind, spans), home ? home->device : 1);
        }
    };
    add_state(bytes.layer, layers.of_stage);
    add_state(bytes.others, 1);
    if (spans.parameters > 1 && run.sharding.leases == spec::LeaseSpan::step && run.tiers.tiles.empty()) {
        // All layers but the one that runs stay gathered, too.
        for (const auto kind : {StateKind::parameters, StateKind::frozen}) {
            const auto of_layer = bytes.layer.find(kind);
            sum += of_layer == bytes.layer.end() ? 0 : (layers.of_stage - 1) * of_layer->second;
        }
    }
    // With one micro-batch, backward of a chunk follows its forward: `working` has what its last layer keeps.
    const auto kept_layers = std::max<std::int64_t>(
        0, layers.of_chunk / run.recompute.every - (run.train.micro_batches == 1 ? 1 : 0));
    const auto kept = slots_in_flight(run, stage) * kept_layers * bytes.kept;
    const double on_device = run.tiers.activations.device;
    sum += on_device < 1 ? share(std::max<std::int64_t>(0, kept - bytes.kept), on_device) : kept;
    // Tiles make weights, and what is computed with them, smaller than those of a whole layer.
    return sum + (on_device == 1 && run.tiers.tiles.empty() ? bytes.working : 0);
}

std::int64_t MemoryBounds::device_bytes(const spec::RunSpec& run) {
    const int stages = run.parallel.stages;
    if (stages == 1) {
        return stage_bytes(run, Position::only, 0);
    }
    const auto first = stage_bytes(run, Position::first, 0);
    return spec::turns_back(run.parallel) ? first
                                          : std::max(first, stage_bytes(run, Position::last, stages - 1));
}

}  // namespace ziggurat::plan
