#include "layout/node_groups.hpp"

#include <gtest/gtest.h>

namespace ziggurat::layout {
namespace {

using spec::Axis;

spec::Parallel mixed(int tensor, int data, int stages) {
    spec::Parallel parallel;
    parallel.tensor = tensor;
    parallel.data = data;
    parallel.stages = stages;
    parallel.ranks = tensor * data * stages;
    return parallel;
}

TEST(NodeGroups, LieWithinNodesWhereTheirRanksDo) {
    const auto parallel = mixed(2, 2, 2);
    const auto node_of = nodes_in_a_row(8, 4, 0);

    EXPECT_EQ(node_of, (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1}));
    EXPECT_EQ(nodes_in_a_row(8, 8, 2), node_of) << "pretended";
    const Mesh mesh{parallel};
    EXPECT_EQ(widest_group(mesh, Axis::tensor, node_of).num_nodes, 1);
    EXPECT_EQ(widest_group(mesh, Axis::pipeline, node_of).num_nodes, 2);
    EXPECT_EQ(describe_nodes(parallel, node_of),
              "node 0: ranks 0 to 3; node 1: ranks 4 to 7; tensor groups within nodes, data groups within "
              "nodes, pipeline groups across 2");
    const std::vector<std::string> names{"n3", "n5"};
    EXPECT_EQ(describe_nodes(parallel, node_of, names).substr(0, 19), "n3: ranks 0 to 3; n");
}

TEST(NodeGroups, AreNotToldOfOneNode) {
    EXPECT_EQ(describe_nodes(mixed(2, 2, 1), nodes_in_a_row(4, 8, 0)), "");
}

TEST(NodeGroups, AreToldOfTheFirstAndTheLastOfManyNodes) {
    const auto text = describe_nodes(mixed(1, 40, 1), nodes_in_a_row(40, 4, 0));

    EXPECT_EQ(text,
              "node 0: ranks 0 to 3; node 1: ranks 4 to 7; node 2: ranks 8 to 11; ...; node 9: ranks 36 to "
              "39; data groups across 10");
}

TEST(NodeGroups, NameTheFirstOfTheWidest) {
    const auto node_of = nodes_in_a_row(12, 6, 0);

    const auto group = widest_group(Mesh{mixed(4, 3, 1)}, Axis::tensor, node_of);

    EXPECT_EQ(group.num_nodes, 2);
    EXPECT_EQ(group.ranks, (std::vector<int>{4, 5, 6, 7}));
    EXPECT_EQ(list_ranks(group.ranks), "ranks 4 to 7");
    EXPECT_EQ(list_ranks(std::vector{1, 3}), "ranks 1, 3");
    EXPECT_EQ(list_ranks(std::vector{2}), "rank 2");
}

TEST(NodeGroups, AreKeptTogetherByWhatDoesKeepThem) {
    const auto keep = [](const spec::Parallel& parallel, const std::vector<int>& node_of) {
        return keep_tensor_groups_together(parallel, node_of);
    };
    EXPECT_EQ(keep(mixed(2, 2, 1), {0, 1, 0, 1}).substr(0, 41), "Start the ranks of a node one after the o");
    auto after = mixed(2, 2, 1);
    after.order = {Axis::data, Axis::tensor, Axis::context, Axis::pipeline};
    EXPECT_EQ(keep(after, {0, 0, 1, 1}), "Put tensor first in parallel.order.");
    EXPECT_EQ(keep(mixed(4, 3, 1), nodes_in_a_row(12, 6, 0)),
              "Start a multiple of 4 ranks on each node, or use parallel.tensor: 2.");
    EXPECT_EQ(keep(mixed(2, 3, 1), nodes_in_a_row(6, 3, 0)), "Start a multiple of 2 ranks on each node.");
}

TEST(Axes, AreDescribedAsFarAsTheyAreThere) {
    auto parallel = mixed(2, 1, 2);
    EXPECT_EQ(describe_axes(parallel), "; sequence off; schedule 1f1b");
    parallel.sequence = true;
    parallel.pipeline_schedule = spec::PipelineSchedule::interleaved;
    parallel.chunks_per_stage = 3;
    EXPECT_EQ(describe_axes(parallel), "; sequence on; schedule interleaved, 3 chunks a stage");
    EXPECT_EQ(describe_axes(mixed(1, 4, 1)), "");
}

}  // namespace
}  // namespace ziggurat::layout
