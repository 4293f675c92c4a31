/// The GPT of publications, for tests of closed forms.
#pragma once

#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::test {

/// Returns a GPT in bf16 with gradients in bf16 and a vocabulary of 51200 tokens.
inline spec::RunSpec published_gpt(std::int64_t layers,
                                   std::int64_t hidden,
                                   std::int64_t heads,
                                   std::int64_t seq) {
    auto run = small_spec("gpt2");
    run.model.layers = layers;
    run.model.hidden = hidden;
    run.model.heads = run.model.kv_heads = heads;
    run.model.head_dim = hidden / heads;
    run.model.ffn_hidden = 4 * hidden;
    run.model.vocab = run.model.vocab_padded = 51200;
    run.model.max_seq = run.data.seq = seq;
    run.precision.compute = run.precision.gradient = spec::DType::bf16;
    return run;
}

}  // namespace ziggurat::test
