/// Specs of small runs for tests of the step program.
#pragma once

#include <string>

#include "layout/families/family_descriptor.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::test {

/// Returns one layer of width 32, two micro-batches of two sequences of 16, on `data` ranks with ZeRO
/// 0.
inline spec::RunSpec small_spec(const std::string& family = "llama", int data = 1) {
    spec::RunSpec spec;
    auto& model = spec.model;
    model.family = family;
    model.layers = 1;
    model.hidden = 32;
    model.heads = 4;
    const auto& described = layout::family_of(model);
    model.kv_heads = described.has_grouped_queries ? 2 : 4;
    model.head_dim = 8;
    model.ffn_hidden = family == "llama" ? 48 : 128;
    model.vocab = 61;
    model.vocab_padded = 64;
    model.max_seq = 32;
    model.tie_embeddings = described.ties_embeddings;
    model.rotary_fraction = described.rotary_fraction;
    spec.data.seq = 16;
    spec.train.steps = 4;
    spec.train.micro_batch = 2;
    spec.train.micro_batches = 2;
    spec.train.global_batch = 4 * data;
    spec.parallel.ranks = data;
    spec.parallel.ranks_per_node = data;
    spec.parallel.data = data;
    spec.sharding.sum_group = data;
    return spec;
}

/// Returns a run of stages with two layers each, without a flush between steps.
inline spec::RunSpec pipedream_spec(int stages,
                                    std::int64_t microbatches,
                                    const std::string& family = "llama") {
    auto spec = small_spec(family);
    spec.model.layers = std::int64_t{2} * stages;
    spec.model.tie_embeddings = false;
    spec.parallel.pipeline_schedule = spec::PipelineSchedule::pipedream;
    spec.parallel.stages = spec.parallel.ranks = spec.parallel.ranks_per_node = stages;
    spec.train.micro_batches = microbatches;
    spec.train.global_batch = 2 * microbatches;
    spec.optimizer.clip = spec::ClipPolicy::off;
    return spec;
}

}  // namespace ziggurat::test
