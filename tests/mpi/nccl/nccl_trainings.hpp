/// Comparison of a training whose GPUs communicate by NCCL with the same one through the host.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "comm/control.hpp"
#include "plan/library_memory.hpp"
#include "tests/emulated_cuda/memory.hpp"
#include "tests/support/class_b.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {

inline int ranks() {
    return test::world().size();
}

/// Returns a run with six heads and a width that two tensor ranks divide.
inline spec::RunSpec run_of(const std::string& family, int tensor, int stages) {
    const int data = ranks() / (tensor * stages);
    auto run = test::tiny_run(family, data, 2, 2);
    run.parallel.tensor = tensor;
    run.parallel.stages = stages;
    run.parallel.ranks = run.parallel.ranks_per_node = ranks();
    return run;
}

/// Returns bytes by purpose, over all ranks.
inline schedule::BytesByPurpose bytes_of_all(const Assembly& assembly) {
    auto moved = assembly.bytes_moved();
    static_assert(sizeof(moved[0]) == sizeof(std::int64_t));
    comm::all_reduce_sum(test::world(), std::span<std::int64_t>{moved.data(), moved.size()});
    return moved;
}

/// Returns the bytes of this rank's GPU, the first visible one, outside of arenas.
inline std::int64_t bytes_outside_arenas(const Assembly& assembly) {
    return static_cast<std::int64_t>(emulated_cuda::reserved_bytes(0)) -
           assembly.arena_bytes(spec::Tier::device);
}

/// Returns the bytes that a plan counts for comm/nccl on this rank.
inline std::int64_t planned_exchange(const spec::RunSpec& run) {
    const auto programs = build_programs(run, test::world().rank());
    return plan::library_memory(run, std::array{&programs.train, &programs.evaluate}).exchange;
}

/// Trains by NCCL and through the host: class B, and the same bytes are sent.
inline void expect_what_staging_gives(spec::RunSpec run) {
    schedule::BytesByPurpose staged_bytes{};
    schedule::BytesByPurpose nccl_bytes{};
    std::int64_t staged_concurrently = 0;
    std::int64_t concurrent_nccl = 0;
    run.parallel.transport = spec::Transport::staged;
    const auto staged =
        test::train_tiny(run, test::world(), test::Keep::tensors, [&](const Assembly& assembly) {
            staged_bytes = bytes_of_all(assembly);
            staged_concurrently = bytes_outside_arenas(assembly);
        });
    run.parallel.transport = spec::Transport::nccl;
    const auto nccl =
        test::train_tiny(run, test::world(), test::Keep::tensors, [&](const Assembly& assembly) {
            nccl_bytes = bytes_of_all(assembly);
            concurrent_nccl = bytes_outside_arenas(assembly);
        });
    const auto again = test::train_tiny(run, test::world(), test::Keep::tensors);  // drains at the same steps

    test::expect_class_b(nccl, staged);
    EXPECT_EQ(again.losses, nccl.losses) << "the same calls on the same ranks give the same bits";
    EXPECT_EQ(again.weights_hash, nccl.weights_hash);
    EXPECT_EQ(nccl_bytes, staged_bytes);
    EXPECT_EQ(concurrent_nccl - staged_concurrently, planned_exchange(run));
}

}  // namespace ziggurat::train
