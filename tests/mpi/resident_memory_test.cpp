/// The memory of a rank equals that of the plan: arenas and resident pages, for each ZeRO stage.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "comm/control.hpp"
#include "plan/memory_table.hpp"
#include "schedule/build_program.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

/// Returns the resident data bytes of this process; pages shared by n processes count one n-th.
std::int64_t resident_bytes() {
    std::ifstream file{"/proc/self/smaps_rollup"};
    std::int64_t kibibytes = 0;
    for (std::string word; file >> word;) {
        if (word == "Pss_Anon:" || word == "Pss_Shmem:") {
            std::int64_t counted = 0;
            file >> counted;
            kibibytes += counted;
        }
    }
    return 1024 * kibibytes;
}

/// Returns the sum over the ranks.
std::int64_t of_all_ranks(std::int64_t mine) {
    comm::all_reduce_sum(test::world(), {&mine, 1});
    return mine;
}

/// Returns a run that is large compared with the libraries' own memory, with few tokens.
spec::RunSpec large_run(int ranks) {
    auto run = test::tiny_run("llama", ranks, 1, 2);
    run.model.layers = 4;
    run.model.hidden = 512;
    run.model.heads = 8;
    run.model.head_dim = 64;
    run.model.ffn_hidden = 1536;
    run.model.vocab_padded = 2048;
    run.precision.compute = spec::DType::bf16;
    return run;
}

double in_mebibytes(std::int64_t bytes) {
    return static_cast<double>(bytes) / (1 << 20);
}

class ResidentMemory : public ::testing::TestWithParam<int> {};

TEST_P(ResidentMemory, IsWhatThePlanSays) {
    const int ranks = test::world().size();
    const int stage = GetParam();
    auto run = large_run(ranks);
    run.sharding.parameters = stage >= 3 ? ranks : 1;
    run.sharding.gradients = stage >= 2 ? ranks : 1;
    run.sharding.optimizer = stage >= 1 ? ranks : 1;
    run.sharding.reduce = stage >= 2 ? spec::ReducePlan::each_microbatch : spec::ReducePlan::at_end;
    const auto program = schedule::build_program(run, test::world().rank(), schedule::Variant::train);
    const auto planned = plan::memory_usage(run, program).total[0];

    const auto before = resident_bytes();
    ASSERT_GT(before, 0) << "no /proc/self/smaps_rollup";
    test::train_tiny(run, test::world(), test::Keep::nothing, [&](const Assembly& assembly) {
        comm::barrier(test::world());
        const auto taken = of_all_ranks(resident_bytes() - before);
        EXPECT_NEAR(in_mebibytes(assembly.arena_bytes(spec::Tier::device)), in_mebibytes(planned), 4)
            << "two arenas of whole pages of 2 MiB";
        EXPECT_NEAR(in_mebibytes(taken) / in_mebibytes(of_all_ranks(planned)), 1, 0.1)
            << in_mebibytes(taken) << " MiB taken, " << in_mebibytes(of_all_ranks(planned)) << " planned";
    });
}

INSTANTIATE_TEST_SUITE_P(Zero, ResidentMemory, ::testing::Values(0, 1, 2, 3));

}  // namespace
}  // namespace ziggurat::train
