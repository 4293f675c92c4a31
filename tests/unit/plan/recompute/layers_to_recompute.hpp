/// Layers of real widths on one GPU, for tests of recomputation.
#pragma once

#include <cstdint>

#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::test {

inline spec::RunSpec layers_to_recompute(const char* family, std::int64_t layers) {
    auto spec = small_spec(family, 1);
    const bool is_llama = spec.model.family == "llama";
    spec.model.layers = layers;
    spec.model.hidden = 2048;
    spec.model.heads = 16;
    spec.model.kv_heads = is_llama ? 4 : 16;
    spec.model.head_dim = 128;
    spec.model.ffn_hidden = is_llama ? 7168 : 8192;
    spec.data.seq = spec.model.max_seq = 2048;
    spec.train.micro_batch = 4;
    spec.train.micro_batches = 2;
    spec.train.global_batch = 8;
    return spec;
}

inline spec::MachineSpec gpu_to_recompute() {
    spec::MachineSpec machine;
    machine.has_device = true;
    machine.device_bytes = std::int64_t{80} << 30;
    machine.host_bytes = std::int64_t{1} << 40;
    machine.device_flops = 250e12;
    machine.device_bandwidth = 1.6e12;
    machine.op_overhead = 5e-6;
    return machine;
}

}  // namespace ziggurat::test
