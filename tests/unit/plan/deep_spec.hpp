/// Specs of deep and of wide models, for tests of plans that build fewer layers or chunks.
#pragma once

#include <cstdint>

#include "schedule/model_layout.hpp"
#include "schedule/passes/optimizer_pass.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {

/// Returns a deep and narrow model: mostly state and activations.
inline spec::RunSpec deep(std::int64_t layers, int ranks = 1) {
    auto spec = test::small_spec("llama", ranks);
    spec.model.layers = layers;
    spec.precision.compute = spec::DType::bf16;
    spec.tiers.chunk_elements = 16384;
    spec.train.micro_batches = 1;
    spec.train.global_batch = 2 * ranks;
    spec.checkpoint.every = spec::Interval{.steps = 10};
    return spec;
}

/// Returns a shallow model whose optimizer has about `chunks` chunks.
inline spec::RunSpec wide(std::int64_t chunks) {
    auto spec = deep(2);
    spec.model.hidden = 1024;
    spec.model.head_dim = 256;
    spec.model.ffn_hidden = 4096;
    const auto all = schedule::optimizer_chunks(spec, schedule::ModelLayout{spec, 0});
    spec.tiers.chunk_elements = all.elements() / chunks / 2048 * 2048;
    return spec;
}

}  // namespace ziggurat::plan
