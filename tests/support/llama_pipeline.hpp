/// Pipelined runs of Llama 8B, 70B and 405B.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "layout/families/family_descriptor.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::test {

/// Size of a Llama model; all have heads of 128 channels and 8 heads of keys and values.
struct LlamaSize {
    std::string name;
    std::int64_t layers = 0, hidden = 0, ffn_hidden = 0;
};

inline const LlamaSize llama_8b{"8B", 32, 4096, 14336};
inline const LlamaSize llama_70b{"70B", 80, 8192, 28672};
inline const LlamaSize llama_405b{"405B", 126, 16384, 53248};

struct PipelineShape {
    spec::PipelineSchedule schedule = spec::PipelineSchedule::one_f_one_b;
    int tensor = 1;
    int stages = 1;
    int chunks = 1;
    spec::RecomputeKind recompute = spec::RecomputeKind::none;
    int micro_batches = 1;  ///< per stage
};

/// Returns a run in bf16 with sequences of 8192 tokens, on one replica of the model.
inline spec::RunSpec llama_pipeline(const LlamaSize& size, const PipelineShape& shape) {
    spec::RunSpec spec;
    auto& model = spec.model;
    model.family = "llama";
    model.layers = size.layers;
    model.hidden = size.hidden;
    model.head_dim = 128;
    model.heads = size.hidden / model.head_dim;
    model.kv_heads = 8;
    model.ffn_hidden = size.ffn_hidden;
    model.vocab = model.vocab_padded = 128256;
    model.max_seq = spec.data.seq = 8192;
    model.tie_embeddings = false;
    auto& parallel = spec.parallel;
    parallel.tensor = shape.tensor;
    parallel.stages = shape.stages;
    parallel.chunks_per_stage = shape.chunks;
    parallel.pipeline_schedule = shape.schedule;
    parallel.ranks = shape.tensor * shape.stages;
    parallel.ranks_per_node = 8;
    spec.train.steps = 4;
    spec.train.micro_batch = 1;
    spec.train.global_batch = spec.train.micro_batches = shape.micro_batches * shape.stages;
    spec.precision.compute = spec::DType::bf16;
    spec.recompute.kind = shape.recompute;
    return spec;
}

/// Returns six layouts of each size, with a text that describes each.
inline std::vector<std::pair<std::string, spec::RunSpec>> llama_pipelines() {
    using Recompute = spec::RecomputeKind;
    using Schedule = spec::PipelineSchedule;
    const std::vector<std::pair<std::string, PipelineShape>> shapes{
        {"GPipe, tensor 4, 4 stages, selective", {Schedule::gpipe, 4, 4, 1, Recompute::selective, 4}},
        {"1F1B, tensor 4, 8 stages, none", {Schedule::one_f_one_b, 4, 8, 1, Recompute::none, 2}},
        {"1F1B, tensor 8, 16 stages, selective", {Schedule::one_f_one_b, 8, 16, 1, Recompute::selective, 2}},
        {"5 chunks, tensor 4, 4 stages, none", {Schedule::interleaved, 4, 4, 5, Recompute::none, 2}},
        {"2 chunks, tensor 4, 8 stages, selective",
         {Schedule::interleaved, 4, 8, 2, Recompute::selective, 4}},
        {"8 chunks, tensor 8, 4 stages, full", {Schedule::interleaved, 8, 4, 8, Recompute::full, 3}}};
    std::vector<std::pair<std::string, spec::RunSpec>> made;
    for (const auto& size : {llama_8b, llama_70b, llama_405b}) {
        for (const auto& [name, shape] : shapes) {
            made.emplace_back(size.name + ", " + name, llama_pipeline(size, shape));
        }
    }
    return made;
}

}  // namespace ziggurat::test
