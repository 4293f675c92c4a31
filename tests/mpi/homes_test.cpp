/// Class A of homes: with state in any tier, a training has the bits of state on the device.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string>
#include <vector>

#include "comm/control.hpp"
#include "schedule/build_program.hpp"
#include "schedule/verify/link_volumes.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using spec::Home;
using spec::ReducePlan;

constexpr Home device{};
constexpr Home host{0, 1, 0};
constexpr Home nvme{0, 0, 1};
constexpr Home shares{0.25, 0.35, 0.4};

struct Homes {
    const char* name;
    Home parameters, gradients, optimizer, activations;
};

std::vector<Homes> all_homes() {
    return {{"optimizer on the host", device, device, host, device},
            {"gradients and optimizer on the host", device, host, host, device},
            {"optimizer on nvme", device, host, nvme, device},
            {"everything on the host", host, host, host, host},
            {"everything on nvme", nvme, nvme, nvme, nvme},
            {"everything in shares", shares, shares, shares, shares}};
}

/// Checks that every link has moved exactly the bytes of the program, and that every home tier holds
/// state.
///
/// The moments of the first step are an exception.
void check_moves(const spec::RunSpec& run, const Assembly& assembly) {
    const auto program = schedule::build_program(run, test::world().rank(), schedule::Variant::train);
    const auto planned = schedule::bytes_by_link(program);
    const auto spared = schedule::moments_read(program);
    EXPECT_EQ(spared > 0, run.tiers.optimizer.nvme > 0);
    const auto moved = assembly.bytes_by_link();
    for (int link = 0; link < schedule::num_links; ++link) {
        const auto l = static_cast<std::size_t>(link);
        const auto left_out = link == static_cast<int>(schedule::Link::nvme_read) ? spared : 0;
        EXPECT_EQ(moved[l], run.train.steps * planned[l] - left_out)
            << to_string(static_cast<schedule::Link>(link));
    }
    EXPECT_GT(moved[static_cast<std::size_t>(schedule::Link::host_to_device)], 0);
    if (run.tiers.optimizer.nvme > 0) {
        EXPECT_GT(moved[static_cast<std::size_t>(schedule::Link::nvme_read)], 0);
        EXPECT_GT(moved[static_cast<std::size_t>(schedule::Link::nvme_write)], 0);
        EXPECT_GT(assembly.arena_bytes(spec::Tier::nvme), 0);
    }
}

class HomesOfState : public ::testing::TestWithParam<std::string> {};

TEST_P(HomesOfState, LeaveTheBitsAlone) {
    const test::ScratchFolder folder;
    const int ranks = test::world().size();
    for (const int zero : {0, 3}) {
        auto run = test::tiny_run(GetParam(), ranks, 2, 3);
        run.sharding.reduce = ReducePlan::each_microbatch;
        run.recompute.kind = spec::RecomputeKind::full;
        run.overlap.prefetch = 2;
        if (zero == 3) {
            run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = ranks;
        }
        run.tiers.chunk_elements = 4096;
        run.tiers.nvme_block_bytes = 8192;
        run.tiers.nvme_paths = {folder.path()};
        run.tiers.nvme_verify = zero == 3;
        const auto expected = test::train_on_host(run, test::world());
        for (const auto& homes : all_homes()) {
            SCOPED_TRACE(std::string{homes.name} + ", zero " + std::to_string(zero));
            run.tiers.parameters = homes.parameters;
            run.tiers.gradients = homes.gradients;
            run.tiers.optimizer = homes.optimizer;
            run.tiers.activations = homes.activations;
            const auto ours = test::train_tiny(run, test::world(), test::Keep::nothing,
                                               [&](const Assembly& assembly) { check_moves(run, assembly); });
            EXPECT_EQ(ours.losses, expected.losses);
            EXPECT_EQ(ours.norms, expected.norms);
            EXPECT_EQ(ours.weights_hash, expected.weights_hash);
            EXPECT_EQ(ours.average_hash, expected.average_hash);
            EXPECT_EQ(ours.evaluated, expected.evaluated);
        }
    }
}

// The last rank's share of a unit is the shortest, or only padding. It finishes a step while other ranks
// still update and publish through memory that is reused.
TEST_P(HomesOfState, LetRanksWaitForEachOtherBetweenSteps) {
    const test::ScratchFolder folder;
    const int ranks = test::world().size();
    auto run = test::tiny_run(GetParam(), ranks, 2, 1);
    run.sharding.gradients = run.sharding.optimizer = ranks;
    run.sharding.reduce = ReducePlan::each_microbatch;
    run.overlap.prefetch = 3;
    run.tiers.parameters = {0, 0, 1};
    run.tiers.gradients = {0, 1, 0};
    run.tiers.chunk_elements = 100;
    run.tiers.nvme_block_bytes = 8192;
    run.tiers.nvme_paths = {folder.path()};
    const auto expected = test::train_on_host(run, test::world());

    std::optional<comm::Context> world;
    test::TinyHooks waits;
    waits.begin = [&](Assembly& assembly) {
        world = assembly.world();
        return std::int64_t{0};
    };
    waits.after_step = [&](std::int64_t) {
        comm::barrier(*world);
        return true;
    };
    const auto ours = test::train_tiny(run, test::world(), test::Keep::nothing, {}, waits);

    EXPECT_EQ(ours.weights_hash, expected.weights_hash);
    EXPECT_EQ(ours.average_hash, expected.average_hash);
    EXPECT_EQ(ours.losses, expected.losses);
}

INSTANTIATE_TEST_SUITE_P(Families, HomesOfState, ::testing::Values("gpt2", "llama"), [](const auto& made) {
    return std::string{made.param == "gpt2" ? "Gpt2" : "Llama"};
});

}  // namespace
}  // namespace ziggurat::train
