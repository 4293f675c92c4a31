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

}  // namespace
}  // namespace ziggurat::schedule
