#include "schedule/place/lane_independence.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/build_program.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

/// Copies on one lane, each from a buffer of its own to 16 bytes of another one.
class Copies {
  public:
    explicit Copies(int count) {
        for (int i = 0; i <= count; ++i) {
            Buffer buffer;
            buffer.bytes = 64;
            buffer.offset = 64 * i;
            program.add_buffer(buffer);
        }
        for (int i = 0; i < count; ++i) {
            Op op;
            op.kind = OpKind::copy;
            op.lane = program.lane(Engine::host_to_device);
            op.reads = {whole(program, i + 1, Role::input)};
            op.writes = {Operand{0, Role::output, {}}};
            op.writes.front().runs = {{i % 4 * 16, 16}};
            program.ops.push_back(op);
        }
    }

    int before(int op) const { return independent_ops_before(program, program.ops[op]); }

    Program program;
};

TEST(LaneIndependence, CountsTheOpsWithoutCommonBytes) {
    Copies copies{max_in_flight};
    constexpr int last = max_in_flight - 1;
    EXPECT_EQ(copies.before(0), 0);
    EXPECT_EQ(copies.before(2), 2) << "ops of the previous step do not count";
    EXPECT_EQ(copies.before(last), 3) << "the fourth op before it writes the same bytes";
    auto& op = copies.program.ops[last];
    op.writes.front().buffer = last + 1;
    EXPECT_EQ(copies.before(last), max_in_flight - 1);
    op.reads.front().buffer = last - 1;
    EXPECT_EQ(copies.before(last), max_in_flight - 1) << "both only read it";
    op.writes.front().buffer = last - 1;
    EXPECT_EQ(copies.before(last), 1) << "it overwrites what the second op before it reads";
    op.writes.front().buffer = last + 1;
    op.reads.front().buffer = 0;
    op.reads.front().runs = op.writes.front().runs = {{0, 64}};
    EXPECT_EQ(copies.before(last), 0) << "it reads what the op before it writes";
    copies.program.buffers[0].tier = spec::Tier::host;
    EXPECT_EQ(copies.before(last), 0);
    for (int i = 0; i < last; ++i) {
        copies.program.ops[i].writes.front().buffer = i + 1;
    }
    EXPECT_EQ(copies.before(last), max_in_flight - 1);
}

TEST(LaneIndependence, HoldsForPiecesOfOneCollective) {
    auto spec = test::small_spec();
    spec.parallel.tensor = spec.parallel.ranks = 2;
    spec.parallel.sequence = true;
    spec.overlap.tensor_pieces = true;
    const auto program = build_program(spec, 0, Variant::train);
    int pieces = 0;
    for (const auto& op : program.ops) {
        if (op.purpose == Purpose::tensor && op.label.find(", rows of rank 1") != std::string::npos) {
            ++pieces;
            EXPECT_GE(independent_ops_before(program, op), 1) << op.label;
        }
    }
    EXPECT_GT(pieces, 4);
}

}  // namespace
}  // namespace ziggurat::schedule
