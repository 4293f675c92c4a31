#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.hpp"
#include "comm/check_mpi.hpp"
#include "comm/node_topology.hpp"
#include "comm/session/session.hpp"

namespace ziggurat::comm {
namespace {

TEST(ExplainSingleton, SpeaksUpWhenSeveralWorldsOfOneWereStarted) {
    const auto by_slurm = explain_singleton(1, {.slurm_tasks = 8});
    const auto by_mpirun = explain_singleton(1, {.launcher_ranks = 4});

    ASSERT_TRUE(by_slurm.has_value());
    EXPECT_NE(std::string::npos, by_slurm->find("Slurm started 8 tasks"));
    EXPECT_NE(std::string::npos, by_slurm->find("srun --mpi=pmix"));
    EXPECT_NE(std::string::npos, by_slurm->find("mpirun -n"));
    ASSERT_TRUE(by_mpirun.has_value());
    EXPECT_NE(std::string::npos, by_mpirun->find("the launcher started 4 tasks"));
}

TEST(ExplainSingleton, IsSilentWhereOneRankMayBeMeant) {
    EXPECT_FALSE(explain_singleton(1, {}));
    EXPECT_FALSE(explain_singleton(1, {.slurm_tasks = 1}));
    EXPECT_FALSE(explain_singleton(8, {.slurm_tasks = 8}));
    EXPECT_FALSE(explain_singleton(8, {.slurm_tasks = 1, .launcher_ranks = 8}));
    EXPECT_FALSE(explain_singleton(1, {.slurm_tasks = 8, .launcher_ranks = 1}));
}

/// In a batch script, Slurm's variable has the number of tasks that srun would start, not of started
/// ones.
TEST(LaunchEnvironment, CountsWhatSrunHasStarted) {
    setenv("SLURM_NTASKS", "8", 1);
    EXPECT_FALSE(LaunchEnvironment::of_process().slurm_tasks);
    setenv("SLURM_STEP_NUM_TASKS", "4", 1);
    EXPECT_EQ(LaunchEnvironment::of_process().slurm_tasks, 4);
    unsetenv("SLURM_NTASKS");
    unsetenv("SLURM_STEP_NUM_TASKS");
}

TEST(NodeTopology, NumbersNodesByTheirLowestRank) {
    const auto topology = topology_of({7, 7, 3, 3, 7}, 4);

    EXPECT_EQ((std::vector<int>{0, 0, 1, 1, 0}), topology.node_of);
    EXPECT_EQ(2, topology.num_nodes);
    EXPECT_EQ(0, topology.node);
    EXPECT_EQ(2, topology.rank_in_node);
    EXPECT_EQ(3, topology.ranks_on_node);
    EXPECT_FALSE(topology.is_uniform);
}

TEST(NodeTopology, IsUniformOnlyForEqualRunsOfRanks) {
    EXPECT_TRUE(topology_of({0, 0, 2, 2}, 0).is_uniform);
    EXPECT_TRUE(topology_of({0}, 0).is_uniform);
    EXPECT_FALSE(topology_of({0, 1, 0, 1}, 0).is_uniform);
    EXPECT_FALSE(topology_of({0, 0, 1}, 0).is_uniform);
    EXPECT_FALSE(topology_of({0, 1, 1}, 0).is_uniform);
}

TEST(MpiCount, RefusesWhatMpiCannotCount) {
    EXPECT_EQ(2147483647, mpi_count(2147483647));
    EXPECT_THROW(mpi_count(2147483648), Error);
    EXPECT_THROW(mpi_count(-1), Error);
}

}  // namespace
}  // namespace ziggurat::comm
