#include "schedule/chunk_residency.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "schedule/build_program.hpp"
#include "schedule/verify/check_program.hpp"
#include "tests/support/random/random_spec.hpp"

namespace ziggurat::schedule {
namespace {

using spec::Tier;

/// Returns a run of one rank with its parameters on the host.
spec::RunSpec with_parameters_on_the_host(std::int64_t micro_batches) {
    auto spec = test::random_spec(2, {.context = false, .tiers = false, .frozen = false, .tiles = false});
    spec.parallel = {};
    spec.sharding = {};
    spec.model.layers = 6;
    spec.model.hidden *= 8;  // with holes that are small next to layers
    spec.model.head_dim *= 8;
    spec.model.ffn_hidden *= 8;
    spec.model.tie_embeddings = false;
    spec.train.micro_batches = micro_batches;
    spec.recompute = {};
    spec.overlap = {};
    spec.tiers.chunk_elements = 7680;
    spec.tiers.parameters = spec.tiers.gradients = spec.tiers.optimizer = {0, 1, 0};
    spec.tiers.activations = {};
    spec.sharding.reduce = spec::ReducePlan::each_microbatch;
    spec.tiers.device_budget_bytes = 1;
    return spec;
}

spec::RunSpec with_chunks(spec::RunSpec spec, std::int64_t device_bytes) {
    spec.tiers.movement = spec::Movement::chunks;
    spec.tiers.device_budget_bytes = device_bytes;
    return spec;
}

std::map<Engine, std::int64_t> moved(const Program& program) {
    std::map<Engine, std::int64_t> sum;
    for (const auto& op : program.ops) {
        if (op.purpose == Purpose::state) {
            for (const auto& read : op.reads) {
                sum[program.lanes[op.lane].engine] += read.bytes();
            }
        }
    }
    return sum;
}

TEST(ChunkResidency, UsesOnlyMemoryThatStaticMovementLeavesFree) {
    const auto spec = with_parameters_on_the_host(3);
    const auto fixed = build_program(spec, 0, Variant::train);

    const auto chunks = build_program(with_chunks(spec, 1), 0, Variant::train);

    EXPECT_LE(chunks.tier_bytes(Tier::device), fixed.tier_bytes(Tier::device));
    EXPECT_LE(chunks.tier_bytes(Tier::host), fixed.tier_bytes(Tier::host));
    EXPECT_LT(moved(chunks)[Engine::host_to_device], moved(fixed)[Engine::host_to_device]);
    EXPECT_EQ(moved(chunks)[Engine::device_to_host], moved(fixed)[Engine::device_to_host]);
    EXPECT_TRUE(check_program(chunks).empty());
}

TEST(ChunkResidency, MovesFewerBytesWithALargerBudgetAndStaysWithinIt) {
    const auto spec = with_parameters_on_the_host(2);
    const auto fixed = build_program(spec, 0, Variant::train);
    const auto all = build_program(with_chunks(spec, spec::unlimited), 0, Variant::train);
    auto previous = moved(fixed)[Engine::host_to_device];
    const auto smallest = fixed.tier_bytes(Tier::device);
    const auto largest = all.tier_bytes(Tier::device);
    ASSERT_LT(smallest, largest);
    for (int part = 0; part <= 4; ++part) {
        const auto budget = smallest + part * (largest - smallest) / 4;

        const auto program = build_program(with_chunks(spec, budget), 0, Variant::train);

        EXPECT_LE(program.tier_bytes(Tier::device), budget);
        // The memory that holes need depends on the placement.
        EXPECT_LE(moved(program)[Engine::host_to_device], previous + previous / 20) << part;
        previous = moved(program)[Engine::host_to_device];
    }
    EXPECT_EQ(previous, moved(all)[Engine::host_to_device]);
}

TEST(ChunkResidency, FetchesEachParameterOneTimeIfAllFit) {
    const auto spec = with_chunks(with_parameters_on_the_host(3), spec::unlimited);
    const auto program = build_program(spec, 0, Variant::train);

    std::map<BufferId, std::int64_t> fetched;
    std::map<BufferId, std::int64_t> largest;
    for (const auto& op : program.ops) {
        for (const auto& read : op.reads) {
            const auto& buffer = program.buffers[read.buffer];
            if (op.purpose == Purpose::state && buffer.state == StateKind::parameters &&
                program.lanes[op.lane].engine == Engine::host_to_device) {
                fetched[read.buffer] += read.bytes();
                largest[read.buffer] = buffer.bytes;
            }
        }
    }
    EXPECT_EQ(fetched.size(), 8U) << "of the embedding, six layers and the head";
    EXPECT_EQ(fetched.size(), largest.size());
    for (const auto& [buffer, bytes] : fetched) {
        EXPECT_LE(bytes, largest[buffer]) << program.buffers[buffer].name;
    }
}

TEST(ChunkResidency, DoesNotChangeProgramsWithoutStateAway) {
    auto spec = with_parameters_on_the_host(2);
    spec.tiers.parameters = spec.tiers.gradients = spec.tiers.optimizer = {};
    const auto fixed = build_program(spec, 0, Variant::train);
    const auto chunks = build_program(with_chunks(spec, spec::unlimited), 0, Variant::train);
    EXPECT_EQ(fixed.ops.size(), chunks.ops.size());
    EXPECT_EQ(fixed.tier_bytes(Tier::device), chunks.tier_bytes(Tier::device));
}

/// Returns the offsets of the blocks of all collectives.
std::vector<std::int64_t> offsets_of_collectives(const Program& program) {
    std::vector<std::int64_t> offsets;
    for (const auto& op : program.ops) {
        for (const auto& block : op.blocks) {
            offsets.push_back(block.offset);
        }
    }
    return offsets;
}

// Ranks can merge different residencies, but blocks of a collective have equal offsets in all their buffers.
TEST(ChunkResidency, LeavesTheBlocksOfCollectivesWhereTheyAre) {
    int compared = 0;
    for (std::uint64_t seed = 1; seed <= 80; ++seed) {
        const auto spec = test::random_spec(seed);
        for (const int rank : {0, spec.parallel.ranks - 1}) {
            const auto fixed = offsets_of_collectives(build_program(spec, rank, Variant::train));
            const auto chunks = offsets_of_collectives(
                build_program(with_chunks(spec, spec::unlimited), rank, Variant::train));
            ASSERT_EQ(fixed, chunks) << "rank " << rank << ", seed " << seed;
            compared += fixed.empty() ? 0 : 1;
        }
    }
    EXPECT_GT(compared, 20);
}

TEST(ChunkResidency, DoesNotChangeEvaluation) {
    const auto spec = with_parameters_on_the_host(2);
    EXPECT_EQ(moved(build_program(with_chunks(spec, spec::unlimited), 0, Variant::evaluate)),
              moved(build_program(spec, 0, Variant::evaluate)));
}

}  // namespace
}  // namespace ziggurat::schedule
