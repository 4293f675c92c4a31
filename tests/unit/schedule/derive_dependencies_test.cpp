#include "schedule/place/derive_dependencies.hpp"

#include <gtest/gtest.h>

#include "schedule/build_program.hpp"
#include "schedule/verify/check_races.hpp"
#include "tests/unit/schedule/small_spec.hpp"
#include "tests/unit/schedule/symbolic_memory.hpp"

namespace ziggurat::schedule {
namespace {

/// Ops on consecutive buffers of 64 bytes.
class Ops {
  public:
    Ops(int lanes, int buffers) {
        for (int l = 0; l < lanes; ++l) {
            program.lanes.push_back({Engine::compute, l, Direction::none, std::to_string(l)});
        }
        for (int b = 0; b < buffers; ++b) {
            Buffer buffer;
            buffer.bytes = 64;
            buffer.offset = 64 * b;
            program.add_buffer(buffer);
        }
        program.arena_bytes[0] = 64 * buffers;
    }

    void add(int lane, std::vector<Operand> reads, std::vector<Operand> writes) {
        Op op;
        op.lane = lane;
        op.reads = std::move(reads);
        op.writes = std::move(writes);
        program.ops.push_back(std::move(op));
    }
    Operand all(int buffer) const { return whole(program, buffer, Role::input); }
    const std::vector<OpId>& waits(int op) const {
        return program.ops[static_cast<std::size_t>(op)].waits_for;
    }
    const std::vector<OpId>& waits_before(int op) const {
        return program.ops[static_cast<std::size_t>(op)].waits_for_previous_step;
    }

    Program program;
};

using Waits = std::vector<OpId>;

TEST(DeriveDependencies, LetsAReaderWaitForTheWriter) {
    Ops ops{2, 1};
    ops.add(0, {}, {ops.all(0)});
    ops.add(1, {ops.all(0)}, {});

    derive_dependencies(ops.program);

    EXPECT_EQ(ops.waits(1), Waits{0});
    EXPECT_EQ(ops.waits_before(0), Waits{1});
}

TEST(DeriveDependencies, LetsAWriterWaitForAllReadersAndTheLastWriter) {
    Ops ops{4, 1};
    ops.add(0, {}, {ops.all(0)});
    ops.add(1, {ops.all(0)}, {});
    ops.add(2, {ops.all(0)}, {});
    ops.add(3, {}, {ops.all(0)});

    derive_dependencies(ops.program);

    EXPECT_EQ(ops.waits(3), (Waits{1, 2}));  // both have waited for op 0
}

TEST(DeriveDependencies, WaitsForTheLatestOpOfALaneOnly) {
    Ops ops{2, 3};
    ops.add(0, {}, {ops.all(0)});
    ops.add(0, {}, {ops.all(1)});
    ops.add(0, {}, {ops.all(2)});
    ops.add(1, {ops.all(0), ops.all(1)}, {});

    derive_dependencies(ops.program);

    EXPECT_EQ(ops.waits(3), Waits{1});
}

TEST(DeriveDependencies, LooksAtBytesNotAtBuffers) {
    Ops ops{3, 2};
    ops.program.buffers[1].offset = 32;  // reuses the second half of buffer 0
    ops.add(0, {}, {{0, Role::input, {{0, 32}}}});
    ops.add(1, {}, {{0, Role::input, {{32, 32}}}});
    ops.add(2, {}, {ops.all(1)});

    derive_dependencies(ops.program);

    EXPECT_EQ(ops.waits(1), Waits{});
    EXPECT_EQ(ops.waits(2), Waits{1});
}

TEST(DeriveDependencies, KeepsTiersApart) {
    Ops ops{2, 2};
    ops.program.buffers[1].tier = spec::Tier::host;
    ops.program.buffers[1].offset = 0;
    ops.add(0, {}, {ops.all(0)});
    ops.add(1, {}, {ops.all(1)});

    derive_dependencies(ops.program);

    EXPECT_EQ(ops.waits(1), Waits{});
}

TEST(DeriveDependencies, LeavesOutWhatFollowsFromOtherWaits) {
    Ops ops{3, 3};
    ops.add(0, {}, {ops.all(0)});
    ops.add(1, {ops.all(0)}, {ops.all(1)});
    ops.add(2, {ops.all(0), ops.all(1)}, {ops.all(2)});
    ops.add(2, {ops.all(0)}, {});

    derive_dependencies(ops.program);

    EXPECT_EQ(ops.waits(2), Waits{1});
    EXPECT_EQ(ops.waits(3), Waits{});
}

TEST(DeriveDependencies, LetsALaneThatOverlapsItselfWaitForItsOwnOps) {
    Ops ops{2, 3};
    ops.program.lanes[1].engine = Engine::nvme_read;
    ops.add(1, {ops.all(0)}, {ops.all(1)});
    ops.add(1, {ops.all(0)}, {ops.all(2)});  // may run concurrently with the first
    ops.add(1, {ops.all(0)}, {ops.all(1)});  // not concurrently with the first
    ops.add(0, {ops.all(2)}, {});
    ops.add(1, {ops.all(0)}, {ops.all(1)});  // the second is done: not tracked by the lane, and not needed

    derive_dependencies(ops.program);

    EXPECT_EQ(ops.waits(1), Waits{});
    EXPECT_EQ(ops.waits(2), Waits{0});
    EXPECT_EQ(ops.waits(3), Waits{1});
    EXPECT_EQ(ops.waits(4), Waits{2});
    EXPECT_EQ(ops.waits_before(0), Waits{4});
    EXPECT_EQ(ops.waits_before(1), Waits{3});
    EXPECT_TRUE(races(ops.program).empty());

    ops.program.ops[4].waits_for.clear();
    EXPECT_FALSE(races(ops.program).empty());
}

TEST(DeriveDependencies, KnowsNoOrderInWhichReadsEnd) {
    Ops ops{2, 3};
    ops.program.lanes[1].engine = Engine::nvme_read;
    ops.add(1, {ops.all(0)}, {ops.all(1)});
    ops.add(1, {ops.all(0)}, {ops.all(2)});
    ops.add(0, {ops.all(2)}, {});
    ops.add(0, {ops.all(1)}, {});

    derive_dependencies(ops.program);

    EXPECT_EQ(ops.waits(2), Waits{1});
    EXPECT_EQ(ops.waits(3), Waits{0}) << "may end behind the second";
    EXPECT_TRUE(races(ops.program).empty());

    ops.program.ops[3].waits_for.clear();
    EXPECT_FALSE(races(ops.program).empty());
}

TEST(DeriveDependencies, KnowsThatNoMoreThanSomeReadsAreUnderWay) {
    constexpr int reads = max_in_flight + 1;
    Ops ops{2, reads + 1};
    ops.program.lanes[1].engine = Engine::nvme_read;
    for (int b = 0; b < reads; ++b) {
        ops.add(1, {ops.all(reads)}, {ops.all(b)});
    }
    ops.add(0, {ops.all(reads - 1)}, {});
    ops.add(0, {ops.all(0)}, {});
    ops.add(0, {ops.all(1)}, {});

    derive_dependencies(ops.program);

    EXPECT_EQ(ops.waits(reads), Waits{reads - 1});
    EXPECT_EQ(ops.waits(reads + 1), Waits{}) << "the last read began when the first had ended";
    EXPECT_EQ(ops.waits(reads + 2), Waits{1});
    EXPECT_TRUE(races(ops.program).empty());
}

TEST(DeriveDependencies, WrapsAroundToTheStepBefore) {
    Ops ops{2, 2};
    ops.add(1, {ops.all(0)}, {ops.all(1)});
    ops.add(0, {ops.all(1)}, {ops.all(0)});

    derive_dependencies(ops.program);

    EXPECT_EQ(ops.waits_before(0), Waits{1});
    EXPECT_EQ(ops.waits_before(1), Waits{});
}

std::vector<spec::RunSpec> several_specs() {
    std::vector<spec::RunSpec> specs;
    const auto add = [&](const std::string& family, auto&& change) {
        auto spec = test::small_spec(family, 4);
        spec.model.layers = 2;
        spec.train.micro_batches = 3;
        change(spec);
        spec.parallel.ranks = spec.parallel.data * spec.parallel.tensor * spec.parallel.stages;
        specs.push_back(spec);
    };
    add("gpt2", [](auto&) {});
    add("llama", [](auto& s) { s.sharding.optimizer = 2; });
    add("gpt2", [](auto& s) {
        s.sharding.optimizer = s.sharding.gradients = 4;
        s.sharding.reduce = spec::ReducePlan::each_microbatch;
        s.recompute.kind = spec::RecomputeKind::full;
    });
    add("llama", [](auto& s) {
        s.sharding.optimizer = 4;
        s.sharding.gradients = 2;
        s.sharding.reduce = spec::ReducePlan::by_span;
        s.precision.compute = spec::DType::bf16;
    });
    add("gpt2", [](auto& s) {
        s.parallel.tensor = 2;
        s.parallel.sequence = true;
        s.parallel.stages = 2;
        s.recompute.kind = spec::RecomputeKind::selective;
        s.model.dropout = 0.1;
    });
    return specs;
}

TEST(DeriveDependencies, SufficeForAnyOrderOfLanes) {
    for (const auto& spec : several_specs()) {
        const auto program = build_program(spec, 0, Variant::train);
        const auto expected = test::run_in_list_order(program, 2);
        for (std::uint64_t seed = 0; seed < 12; ++seed) {
            EXPECT_EQ(test::run_on_lanes(program, 2, seed), expected) << "seed " << seed;
        }
    }
}

/// The property test detects a missing wait: each derived wait is necessary.
TEST(DeriveDependencies, AreAllNeeded) {
    int planted = 0;
    int found = 0;
    const auto spec = several_specs()[1];
    const auto program = build_program(spec, 0, Variant::train);
    const auto expected = test::run_in_list_order(program, 2);
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        for (std::size_t w = 0; w < program.ops[i].waits_for.size(); ++w) {
            auto broken = program;
            auto& waits = broken.ops[i].waits_for;
            waits.erase(waits.begin() + static_cast<std::ptrdiff_t>(w));
            ++planted;
            for (std::uint64_t seed = 0; seed < 12; ++seed) {
                if (test::run_on_lanes(broken, 2, seed) != expected) {
                    ++found;
                    break;
                }
            }
        }
    }
    EXPECT_GT(planted, 10);
    EXPECT_EQ(found, planted);
}

}  // namespace
}  // namespace ziggurat::schedule
