#include "schedule/residency/unit_passes.hpp"

#include <gtest/gtest.h>

namespace ziggurat::schedule {
namespace {

void compute(Program& program, int unit, Direction direction) {
    Op op;
    op.kind = OpKind::compute;
    op.unit = unit;
    op.microbatch = 0;
    op.direction = direction;
    program.ops.push_back(op);
}

/// Returns a layer's forward (ops 0, 1), a head in turns (2 to 5), the layer's backward (6).
Program layer_and_head() {
    Program program;
    compute(program, 0, Direction::forward);
    compute(program, 0, Direction::forward);
    for (int rows = 0; rows < 2; ++rows) {
        compute(program, 1, Direction::forward);
        compute(program, 1, Direction::backward);
    }
    compute(program, 0, Direction::backward);
    return program;
}

TEST(UnitPasses, CountTheHeadOnceHoweverManyTurnsItTakes) {
    const UnitPasses passes{layer_and_head()};

    EXPECT_EQ(passes.issued_at(6, 1), 2);
    EXPECT_EQ(passes.issued_at(6, 2), 0);
}

TEST(UnitPasses, EndWhereTheNextBegins) {
    const UnitPasses passes{layer_and_head()};

    EXPECT_EQ(passes.after(1, 1), 2);
    EXPECT_EQ(passes.after(1, 2), 6);
    EXPECT_EQ(passes.after(1, 3), 1);  // no pass that late
}

TEST(UnitPasses, AreNotNeededWhenNothingIsAhead) {
    const UnitPasses passes{layer_and_head()};

    EXPECT_EQ(passes.issued_at(4, 0), 4);
    EXPECT_EQ(passes.after(4, 0), 4);
}

/// Returns two layers and the head (unit 3) with two micro-batches by layer: ops 0 to 9.
Program by_layer() {
    Program program;
    program.is_by_layer = true;
    program.layers = 2;
    const auto add = [&](int unit, Direction direction) {
        for (int m = 0; m < 2; ++m) {
            compute(program, unit, direction);
            program.ops.back().microbatch = m;
        }
    };
    for (const int unit : {1, 2}) {
        add(unit, Direction::forward);
    }
    add(3, Direction::forward);
    for (const int unit : {2, 1}) {
        add(unit, Direction::backward);
    }
    return program;
}

TEST(UnitPasses, ByLayerAreOneForStateAndTwoForTheValuesOfTwoMicroBatches) {
    const auto program = by_layer();

    EXPECT_EQ(unit_pass_of(program, 0), unit_pass_of(program, 1));
    EXPECT_NE(unit_pass_of(program, 1), unit_pass_of(program, 2));
    EXPECT_NE(unit_pass_of(program, 2), unit_pass_of(program, 6)) << "forward and backward of a layer";
    EXPECT_EQ(UnitPasses::for_state(program).issued_at(2, 1), 0);
    EXPECT_EQ(UnitPasses{program}.issued_at(2, 1), 1);
    EXPECT_EQ(UnitPasses::for_state(program).issued_at(8, 2), 4);
}

TEST(UnitPasses, ByLayerLeaveSegmentsApart) {
    auto program = by_layer();
    program.ops[OpId{0}].segment = program.ops[OpId{1}].segment = 0;

    EXPECT_NE(unit_pass_of(program, 0), unit_pass_of(program, 1));
}

}  // namespace
}  // namespace ziggurat::schedule
