#include "schedule/residency/split_by_home.hpp"

#include <gtest/gtest.h>

#include "schedule/build_program.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

/// Returns two micro-batches with gradients accumulated at their homes: half of them on the host.
spec::RunSpec half_on_the_host() {
    auto spec = test::small_spec("llama");
    spec.train.micro_batches = 2;
    spec.sharding.reduce = spec::ReducePlan::each_microbatch;
    spec.tiers.chunk_elements = 256;
    spec.tiers.gradients = {0.5, 0.5, 0};
    return spec;
}

std::int64_t bytes_of_gradients(const Program& program, spec::Tier tier) {
    std::int64_t bytes = 0;
    for (const auto& buffer : program.buffers) {
        const bool is_gradient = buffer.state == StateKind::gradients && buffer.tier == tier &&
                                 buffer.lifetime == Lifetime::persistent;
        bytes += is_gradient ? buffer.bytes : 0;
    }
    return bytes;
}

TEST(SplitByHome, LeavesOnTheDeviceWhatIsAtHomeThere) {
    const auto program = build_program(half_on_the_host(), 0, Variant::train);
    const auto on_host = bytes_of_gradients(program, spec::Tier::host);
    ASSERT_GT(on_host, 0);
    ASSERT_GT(bytes_of_gradients(program, spec::Tier::device), 0);

    const auto moved = bytes_by_payload(program)[static_cast<std::size_t>(PayloadKind::gradients)];

    EXPECT_EQ(moved[static_cast<std::size_t>(Link::device_to_host)], 2 * on_host);
    EXPECT_EQ(moved[static_cast<std::size_t>(Link::host_to_device)], on_host);  // for the update
}

TEST(SplitByHome, CountsEveryElementOfTheNormOnce) {
    const auto program = build_program(half_on_the_host(), 0, Variant::train);
    std::int64_t counted = 0;
    for (const auto& op : program.ops) {
        counted += op.kind == OpKind::norm ? op.reads.front().bytes() : 0;
    }
    EXPECT_EQ(counted, bytes_of_gradients(program, spec::Tier::host) +
                           bytes_of_gradients(program, spec::Tier::device));
}

TEST(SplitByHome, DoesNotCutANormWithinABlockOfItsSum) {
    Program program;
    Buffer gradients;
    gradients.bytes = 1024 * 4;
    gradients.state = StateKind::gradients;
    const int buffer = program.add_buffer(gradients);
    Op norm;
    norm.kind = OpKind::norm;
    norm.reads.push_back({buffer, Role::gradient, {{64, 4032}}});  // from element 16 on
    program.ops.push_back(norm);
    norm.reads.front().runs = {{0, 4096}};
    program.ops.push_back(norm);

    split_by_home(program, {{{{0, 512}, spec::Tier::device}, {{512, 1024}, spec::Tier::host}}});

    ASSERT_EQ(program.ops.size(), 3U);
    EXPECT_EQ(program.ops[0].reads.front().bytes(), 4032);
    EXPECT_EQ(program.ops[1].reads.front().bytes(), 2048);
    EXPECT_EQ(program.ops[2].reads.front().runs, (schedule::ByteRangeList{{2048, 2048}}));
}

}  // namespace
}  // namespace ziggurat::schedule
