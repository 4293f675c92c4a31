/// Batches, and the KV caches of programs that have them.
#include <utility>

#include "layout/families/attention_window.hpp"
#include "schedule/expand/expand_phases.hpp"

namespace ziggurat::schedule {
namespace {

/// Returns the maximum number of pairs of answers in a micro-batch; 0 if samples are not pairs.
std::int64_t max_pairs(const spec::RunSpec& spec) {
    return spec.data.has_pairs ? spec.train.micro_batch * (spec.data.seq / spec::min_pair_tokens) : 0;
}

/// Returns the number of elements of the tensor; 0 if the program does not have it.
std::int64_t elements_of(BatchTensor tensor,
                         const spec::RunSpec& spec,
                         const ModelLayout& model,
                         const Program& program) {
    const bool is_cached = program.variant == Variant::cached;
    const auto& cache = program.cached.cache;
    const bool has_windows = layout::num_windowed_layers(spec) > 0;
    const auto queries = model.tokens * spec.parallel.context;  // of all positions
    switch (tensor) {
        case BatchTensor::tokens:
        case BatchTensor::positions:
            return model.tokens;
        case BatchTensor::targets:
        case BatchTensor::mask:
        case BatchTensor::losses:
            return is_cached && !program.cached.has_head ? 0 : model.tokens;
        case BatchTensor::document_starts:
            return is_cached ? 0 : queries;
        case BatchTensor::window_starts:
            return has_windows && !is_cached ? queries : 0;
        case BatchTensor::samples:
            return is_cached ? 0 : spec.train.micro_batch * (model.is_cube ? 2 : 1);
        case BatchTensor::pairs:
        case BatchTensor::references:
        case BatchTensor::pair_results:
            return program.variant == Variant::train ? max_pairs(spec) : 0;
        case BatchTensor::cache_sequences:
            return is_cached ? model.tokens : 0;
        case BatchTensor::page_table:
            return is_cached ? cache.sequences * cache.pages_per_sequence : 0;
        case BatchTensor::window_page_table:
            return is_cached && has_windows ? cache.sequences * cache.pages_per_sequence : 0;
    }
    return 0;
}

}  // namespace

void PhaseWriter::add_batch(int microbatch) {
    auto& program = draft_.program;
    EnumArray<BatchTensor, BufferId> batch;
    for (int b = 0; b < num_batch_tensors; ++b) {
        const auto tensor = static_cast<BatchTensor>(b);
        const auto elements = elements_of(tensor, spec_, model_, program);
        if (elements == 0) {
            continue;
        }
        Buffer buffer;
        buffer.name = to_string(role_of(tensor));
        buffer.tier = spec::Tier::host;
        buffer.bytes = elements * element_bytes(tensor);
        buffer.lifetime = Lifetime::inputs;
        buffer.consumer = MemoryCategory::batch;
        buffer.microbatch = microbatch;
        batch[tensor] = program.add_buffer(std::move(buffer));
    }
    program.trainer_buffers.batch.push_back(batch);
}

void PhaseWriter::add_caches() {
    auto& program = draft_.program;
    const auto& cache = program.cached.cache;
    for (const UnitId unit : model_.units) {
        for (const auto& phase : unit_of(unit).phases) {
            if (phase.kind != layout::PhaseKind::attention) {
                continue;
            }
            Buffer buffer;
            buffer.name = unit_of(unit).name + ".kv_cache";
            buffer.tier = spec_.tiers.kv_cache;
            buffer.type = spec_.precision.compute;
            buffer.bytes =
                (phase.window > 0 ? cache.window_pages : cache.pages) * layout::cache_page_bytes(spec_);
            buffer.lifetime = Lifetime::persistent;
            buffer.consumer = MemoryCategory::kv_cache;
            buffer.unit = unit;
            caches_[unit] = program.add_buffer(std::move(buffer));
        }
    }
}

void PhaseWriter::add_cache(Op& op, const layout::Phase& phase) {
    op.reads.push_back(batch(BatchTensor::positions, op.microbatch));
    op.reads.push_back(batch(BatchTensor::cache_sequences, op.microbatch));
    op.reads.push_back(
        batch(phase.window > 0 ? BatchTensor::window_page_table : BatchTensor::page_table, op.microbatch));
    const auto cache = whole(draft_.program, caches_.at(op.unit), Role::kv_cache);
    op.reads.push_back(cache);
    op.writes.push_back(cache);
}

}  // namespace ziggurat::schedule
