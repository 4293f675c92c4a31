/// Class A of homes: wherever state lies, the bits of a training are those of the device alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <vector>

#include "tests/support/rank_test.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using spec::Family;
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

class HomesOfState : public ::testing::TestWithParam<Family> {};

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
        const auto expected = test::train_tiny(run, test::world(), test::Keep::nothing);
        for (const auto& homes : all_homes()) {
            SCOPED_TRACE(std::string{homes.name} + ", zero " + std::to_string(zero));
            run.tiers.parameters = homes.parameters;
            run.tiers.gradients = homes.gradients;
            run.tiers.optimizer = homes.optimizer;
            run.tiers.activations = homes.activations;
            const auto ours = test::train_tiny(run, test::world(), test::Keep::nothing);
            EXPECT_EQ(ours.losses, expected.losses);
            EXPECT_EQ(ours.norms, expected.norms);
            EXPECT_EQ(ours.weights_hash, expected.weights_hash);
            EXPECT_EQ(ours.evaluated, expected.evaluated);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Families,
                         HomesOfState,
                         ::testing::Values(Family::gpt2, Family::llama),
                         [](const auto& made) {
                             return std::string{made.param == Family::gpt2 ? "Gpt2" : "Llama"};
                         });

}  // namespace
}  // namespace ziggurat::train
