#include "layout/context/inner_ring.hpp"

#include <gtest/gtest.h>

namespace ziggurat::layout {
namespace {

using spec::Axis;

spec::RunSpec context_of(int context, int others, int ranks_per_node) {
    spec::RunSpec run;
    run.parallel.context = context;
    run.parallel.data = context * others;
    run.parallel.ranks = run.parallel.data;
    run.parallel.ranks_per_node = ranks_per_node;
    return run;
}

TEST(InnerRing, HasTheRanksOfANodeIfEachNodeHasTheSameNumberOfThem) {
    EXPECT_EQ(inner_ring(context_of(4, 1, 2)), 2);
    EXPECT_EQ(inner_ring(context_of(6, 1, 3)), 3);
    EXPECT_EQ(inner_ring(context_of(6, 1, 2)), 2);
    EXPECT_EQ(inner_ring(context_of(8, 2, 4)), 4);
    EXPECT_EQ(describe_rings(context_of(8, 2, 4)),
              "; ring attention in rings of 4 within and 2 between nodes");
}

TEST(InnerRing, HasTheRanksOfAnEmulatedNode) {
    auto run = context_of(6, 1, 6);
    run.debug.nodes = 2;
    EXPECT_EQ(inner_ring(run), 3);
    run.debug.nodes = 4;  // of two, one, two and one ranks
    EXPECT_EQ(inner_ring(run), 6);
}

TEST(InnerRing, HasAllRanksOtherwise) {
    EXPECT_EQ(inner_ring(context_of(1, 4, 2)), 1);
    EXPECT_EQ(inner_ring(context_of(4, 2, 4)), 4) << "each group on one node";
    EXPECT_EQ(inner_ring(context_of(4, 1, 1)), 4) << "one rank on each node";
    EXPECT_EQ(inner_ring(context_of(4, 1, 3)), 4) << "three ranks and one";
    EXPECT_EQ(inner_ring(context_of(4, 3, 6)), 4) << "some groups on one node, one on two";
    EXPECT_EQ(describe_rings(context_of(4, 1, 1)), "");
    auto exchanging = context_of(4, 1, 2);
    exchanging.parallel.context_kind = spec::ContextKind::ulysses;
    EXPECT_EQ(inner_ring(exchanging), 4);
    EXPECT_EQ(describe_rings(exchanging), "");
}

TEST(InnerRing, CountsContextRanksThatHaveTensorRanksBetweenThem) {
    auto run = context_of(4, 1, 4);
    run.parallel.tensor = 2;
    run.parallel.ranks = 8;
    EXPECT_EQ(inner_ring(run), 2);
    run.parallel.ranks_per_node = 2;
    EXPECT_EQ(inner_ring(run), 4) << "one context rank on each node";
    run.parallel.order = {Axis::context, Axis::data, Axis::tensor, Axis::pipeline};
    EXPECT_EQ(inner_ring(run), 2);
}

}  // namespace
}  // namespace ziggurat::layout
