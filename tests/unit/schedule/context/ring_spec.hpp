/// Runs with ring attention, and the bytes that their programs send.
#pragma once

#include <cstdint>
#include <string>

#include "schedule/step_program.hpp"
#include "tests/support/random/random_spec.hpp"

namespace ziggurat::test {

/// Returns a run of context ranks only, in two levels if a node has fewer of them.
inline spec::RunSpec on_a_ring(int ranks, int ranks_per_node) {
    auto spec = random_spec(4, {.context = false, .tiers = false, .frozen = false, .tiles = false});
    spec.parallel = {};
    spec.parallel.ranks = spec.parallel.data = spec.parallel.context = ranks;
    spec.parallel.ranks_per_node = ranks_per_node;
    spec.sharding = {1, 1, 1, 0, spec::ReducePlan::at_end, 1};
    spec.parallel.context_kind = spec::ContextKind::ring;
    spec.data.seq = 24;
    spec.model.max_seq = 24;
    spec.model.window = 0;
    spec.model.layers = 2;
    spec.train.micro_batches = 1;
    spec.recompute.kind = spec::RecomputeKind::none;
    return spec;
}

/// Returns the elements of keys and values of a block of a rank in one layer.
inline std::int64_t block_elements(const spec::RunSpec& spec) {
    return spec.train.micro_batch * spec.data.seq / spec.parallel.context / 2 * 2 * spec.model.kv_heads *
           spec.model.head_dim;
}

/// Bytes that a program sends over the context axis.
struct RingBytes {
    std::int64_t keys = 0, gradients = 0;
};

/// \param group  "ring" or "ring between nodes"
inline RingBytes bytes_sent(const schedule::Program& program, const std::string& group) {
    RingBytes sent;
    for (const auto& op : program.ops) {
        if (op.kind == schedule::OpKind::send && program.groups[op.group].name == group) {
            const bool are_gradients = op.label.find("d kv") != std::string::npos;
            (are_gradients ? sent.gradients : sent.keys) += op.reads.front().bytes();
        }
    }
    return sent;
}

}  // namespace ziggurat::test
