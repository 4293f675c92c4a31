#include "schedule/verify/link_volumes.hpp"

#include <gtest/gtest.h>

#include "schedule/build_program.hpp"
#include "tests/support/random/random_spec.hpp"
#include "tests/support/random/spec_coverage.hpp"

namespace ziggurat::schedule {
namespace {

constexpr spec::Home homes[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

/// Returns a random run of one stage with all state sharded over all ranks, each kind in one tier.
spec::RunSpec sharded(std::uint64_t seed) {
    auto spec = test::random_spec(seed, {.max_ranks = 8, .context = false, .tiers = false});
    const int ranks = 2 + static_cast<int>(seed % 3);
    spec.parallel = {};
    spec.parallel.ranks = spec.parallel.data = spec.parallel.ranks_per_node = ranks;
    spec.sharding = {ranks, ranks, ranks, 0, spec::ReducePlan::each_microbatch, ranks};
    spec.train.micro_batches = 1 + static_cast<std::int64_t>(seed / 3 % 3);
    spec.train.accumulate =
        seed % 2 == 0 ? spec::AccumulationOrder::by_micro_batch : spec::AccumulationOrder::by_layer;
    spec.overlap.optimizer_with_backward = false;
    spec.recompute.every = 1;
    spec.tiers.tiles = {};
    spec.tiers.parameters = homes[seed % 3];
    spec.tiers.gradients = homes[seed / 3 % 3];
    spec.tiers.optimizer = homes[seed / 9 % 3];
    spec.tiers.embedding_on_host = seed / 27 % 2 == 1;
    return spec;
}

TEST(LinkVolumes, AreThoseOfTheProgram) {
    for (std::uint64_t seed = 0; seed < 108; ++seed) {
        const auto spec = sharded(seed);
        const int rank = static_cast<int>(seed) % spec.parallel.ranks;
        const ModelLayout model{spec, rank};
        const auto counted = bytes_by_payload(build_program(spec, rank, Variant::train));
        const auto expected = link_volumes_by_formula(spec, model);
        for (const auto payload : {PayloadKind::parameters, PayloadKind::gradients, PayloadKind::optimizer}) {
            for (int link = 0; link < num_links; ++link) {
                const auto c = static_cast<std::size_t>(payload);
                const auto l = static_cast<std::size_t>(link);
                EXPECT_EQ(counted[c][l], expected[c][l])
                    << to_string(payload) << " over " << to_string(static_cast<Link>(link)) << ", seed "
                    << seed << ": " << test::described(spec);
            }
        }
    }
}

// Activations are offloaded as soon as they are produced, and fetched once, over each link on the way.
TEST(LinkVolumes, OfActivationsAreEqualBothWays) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        auto spec = sharded(seed);
        spec.tiers.activations = homes[1 + seed % 2];
        spec.train.only.clear();  // so that backward reads some of them
        spec.train.accumulate = spec::AccumulationOrder::by_micro_batch;
        const auto moved = bytes_by_payload(
            build_program(spec, 0, Variant::train))[static_cast<std::size_t>(PayloadKind::activations)];
        const auto at = [&](Link link) { return moved[static_cast<std::size_t>(link)]; };
        EXPECT_GT(at(Link::device_to_host), 0) << test::described(spec);
        EXPECT_EQ(at(Link::device_to_host), at(Link::host_to_device));
        EXPECT_EQ(at(Link::nvme_read), at(Link::nvme_write));
        EXPECT_EQ(at(Link::nvme_read) > 0, seed % 2 == 1);
    }
}

TEST(LinkVolumes, OfParametersByLayerDoNotGrowWithTheMicroBatches) {
    auto spec = sharded(2);
    spec.train.only.clear();
    spec.tiers.parameters = homes[2];
    const auto read = [&](spec::AccumulationOrder order, std::int64_t microbatches) {
        spec.train.accumulate = order;
        spec.train.micro_batches = microbatches;
        return bytes_by_payload(build_program(spec, 0, Variant::train))[static_cast<std::size_t>(
            PayloadKind::parameters)][static_cast<std::size_t>(Link::nvme_read)];
    };
    using enum spec::AccumulationOrder;
    const auto of_one = read(by_micro_batch, 1);
    const auto of_update = 2 * of_one - read(by_micro_batch, 2);  // bytes that a step reads one time

    ASSERT_GT(of_one, of_update);
    EXPECT_EQ(read(by_micro_batch, 4), 4 * (of_one - of_update) + of_update);
    EXPECT_EQ(read(by_layer, 4), of_one);
    EXPECT_EQ(read(by_layer, 7), of_one);
}

TEST(LinkTraffic, CountsPagesOnDisksAndBytesElsewhere) {
    Program program;
    Op op;
    op.reads.push_back({0, Role::input, {{0, 100}, {8192, 4097}}});
    op.kind = OpKind::read;
    op.lane = program.lane(Engine::nvme_read);
    EXPECT_EQ(bytes_moved(op, program), 4096 + 8192);
    op.kind = OpKind::copy;
    op.lane = program.lane(Engine::host_to_device);
    EXPECT_EQ(bytes_moved(op, program), 100 + 4097);
    op.lane = program.lane(Engine::compute);
    EXPECT_EQ(bytes_moved(op, program), 0);
}

}  // namespace
}  // namespace ziggurat::schedule
