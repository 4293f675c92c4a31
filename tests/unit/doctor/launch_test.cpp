#include "doctor/launch_checks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ziggurat::doctor {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const Release open_mpi{"Open MPI", 4, 1, 4};

TEST(Release, IsReadFromLibrariesAndLaunchers) {
    EXPECT_EQ(read_release("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), open_mpi);
    EXPECT_EQ(read_release("mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/"), open_mpi);
    EXPECT_EQ(read_release("mpirun (Open MPI) 5.0.0rc1"), (Release{"Open MPI", 5, 0, 0}));
    EXPECT_EQ(read_release("MPICH Version:      4.0.2\nMPICH Release date: x"), (Release{"MPICH", 4, 0, 2}));
    EXPECT_EQ(read_release("HYDRA build details:\n    Version:          4.0.2\n"),
              (Release{"MPICH", 4, 0, 2}));
    EXPECT_EQ(read_release("Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 1"),
              (Release{"Intel MPI", 2021, 9, 0}));
    EXPECT_FALSE(read_release("").is_known());
    EXPECT_FALSE(read_release("a launcher of our own 1.2.3").is_known());
}

TEST(Launcher, IsOfTheProgramsMpi) {
    EXPECT_EQ(diagnose_launcher("/bin/mpirun", "mpirun (Open MPI) 4.1.4", open_mpi).health, Health::ok);
    const auto near = diagnose_launcher("/bin/mpirun", "mpirun (Open MPI) 4.1.2", open_mpi);
    EXPECT_EQ(near.health, Health::ok);
    EXPECT_THAT(near.found, HasSubstr("is Open MPI 4.1.2; the program runs with Open MPI 4.1.4"));

    for (const char* printed :
         {"mpirun (Open MPI) 4.0.4", "mpirun (Open MPI) 5.1.4", "HYDRA build details:\n Version: 4.1.4"}) {
        const auto other = diagnose_launcher("/x/mpirun", printed, open_mpi);
        EXPECT_EQ(other.health, Health::error) << printed;
        EXPECT_THAT(other.remedy, HasSubstr("Put the folder of Open MPI 4.1.4's mpirun first in PATH"));
    }
    EXPECT_EQ(diagnose_launcher("", "", open_mpi).health, Health::warning);
    EXPECT_EQ(diagnose_launcher("/x/mpirun", "", open_mpi).health, Health::warning);
}

TEST(Root, HasToBeAllowedTwice) {
    EXPECT_THAT(diagnose_root(false, false, false, open_mpi), IsEmpty());
    EXPECT_THAT(diagnose_root(true, true, true, open_mpi), IsEmpty());
    EXPECT_THAT(diagnose_root(true, false, false, {"MPICH", 4, 0, 2}), IsEmpty());
    ASSERT_THAT(diagnose_root(true, true, false, open_mpi), SizeIs(1));
    EXPECT_THAT(diagnose_root(true, true, false, open_mpi)[0].found,
                HasSubstr("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM is not set"));
    EXPECT_EQ(diagnose_root(true, false, true, open_mpi)[0].health, Health::error);
}

TEST(Mpi, IsOfTheMinorVersionThatTheProgramWasBuiltWith) {
    EXPECT_EQ(diagnose_mpi(open_mpi, open_mpi, "").health, Health::ok);
    EXPECT_EQ(diagnose_mpi({"Open MPI", 4, 1, 1}, open_mpi, "").health, Health::ok);
    EXPECT_EQ(diagnose_mpi({"Open MPI", 5, 0, 1}, open_mpi, "").health, Health::error);
    EXPECT_EQ(diagnose_mpi({}, {}, "an MPI of our own").found, "an MPI of our own");
}

RankCores bound_to(std::vector<int> cores, int node = 0, int threads = 0) {
    return {.node = node,
            .host = "vm" + std::to_string(node),
            .cpus = std::move(cores),
            .job_cores = 4,
            .threads = threads};
}

TEST(Cores, MayBeSharedWhereNoneIsIdle) {
    EXPECT_EQ(diagnose_cores({bound_to({0, 1}), bound_to({2, 3})})[0].health, Health::ok);
    EXPECT_EQ(diagnose_cores({bound_to({0, 1, 2, 3}), bound_to({0, 1, 2, 3})})[0].health, Health::ok);
    EXPECT_EQ(diagnose_cores({bound_to({0, 1, 2, 3})})[0].found, "1 rank on 4 of 4 cores");

    const auto shared = diagnose_cores({bound_to({1, 2}), bound_to({2, 1})});
    ASSERT_THAT(shared, SizeIs(1));
    EXPECT_EQ(shared[0].health, Health::warning);
    EXPECT_EQ(shared[0].found, "ranks 0 and 1 are bound to one core, and 2 of 4 cores are idle");
    EXPECT_THAT(shared[0].remedy, HasSubstr("--map-by slot:PE=2"));
}

TEST(Cores, AreIdleWhereRanksAreBoundToFew) {
    const auto few = diagnose_cores({bound_to({0}), bound_to({1})});
    EXPECT_EQ(few[0].health, Health::warning);
    EXPECT_EQ(few[0].found, "2 ranks are bound to 2 of 4 cores");
    EXPECT_EQ(diagnose_cores({bound_to({1})})[0].found, "1 rank is bound to 1 of 4 cores");
    EXPECT_THAT(diagnose_cores({bound_to({1})})[0].remedy, HasSubstr("PE=4', or --bind-to none"));
    EXPECT_EQ(diagnose_cores({bound_to({0, 1}), bound_to({2})})[0].health, Health::ok);

    auto first = bound_to({0});
    auto second = bound_to({1});
    first.core_limit = second.core_limit = 2;
    EXPECT_EQ(diagnose_cores({first, second})[0].health, Health::ok);
}

TEST(Cores, OfTwoThreadsAreUsedByOneOfThem) {
    auto first = bound_to({0, 1, 4, 5});
    auto second = bound_to({2, 3});
    first.core_of = {{4, 0}, {5, 1}};
    EXPECT_EQ(diagnose_cores({first, second})[0].found, "2 ranks on 4 of 4 cores");

    second.cpus = {4};
    second.core_of = {{4, 0}};
    EXPECT_EQ(diagnose_cores({first, second})[0].found,
              "ranks 0 and 1 are bound to one core, and 2 of 4 cores are idle");
}

TEST(Cores, AreFewerThanThreads) {
    const auto crowded = diagnose_cores({bound_to({0, 1, 2, 3}, 0, 3), bound_to({0, 1, 2, 3}, 0, 3)});
    EXPECT_EQ(crowded[0].found, "6 threads of 2 ranks have 4 cores");
    EXPECT_THAT(crowded[0].remedy, HasSubstr("OMP_NUM_THREADS"));
    EXPECT_EQ(diagnose_cores({bound_to({0, 1, 2, 3}, 0, 4)})[0].health, Health::ok);
    EXPECT_EQ(diagnose_cores(std::vector<RankCores>(5, bound_to({0, 1, 2, 3})))[0].found,
              "5 ranks have 4 cores");
}

TEST(Cores, OfSeveralNodesAreOneLineWhereTheyAreAlike) {
    std::vector<RankCores> ranks;
    for (int node = 0; node < 3; ++node) {
        ranks.push_back(bound_to({0}, node));
        ranks.push_back(bound_to(node == 1 ? std::vector{1, 2, 3} : std::vector{0}, node));
    }

    const auto checked = diagnose_cores(ranks);

    ASSERT_THAT(checked, SizeIs(2));
    EXPECT_EQ(checked[0].found,
              "ranks 0 and 1 are bound to one core, and 3 of 4 cores are idle (on 2 of 3 nodes: vm0, vm2; "
              "the first of them is shown)");
    EXPECT_EQ(checked[1].found, "2 ranks on 4 of 4 cores (on 1 of 3 nodes: vm1)");
}

TEST(Clocks, ThatAreApartAreNamedByTheWorst) {
    const std::vector<std::string> hosts{"vm0", "vm1", "vm2"};
    EXPECT_EQ(diagnose_clocks({0, 0.9, -0.9}, hosts).health, Health::ok);
    const auto apart = diagnose_clocks({0, 1.5, -90}, hosts);
    EXPECT_EQ(apart.health, Health::warning);
    EXPECT_EQ(apart.found, "2 of 3 ranks differ in time from rank 0 on vm0: rank 2 on vm2 is 90.0 s behind");
    EXPECT_THAT(diagnose_clocks({0, 1.5, 0}, hosts).found, HasSubstr("rank 1 on vm1 is 1.5 s ahead"));
}

TEST(Builds, AreThoseOfRank0) {
    const std::vector<std::string> hosts{"vm0", "vm1", "vm2", "vm3", "vm4", "vm5"};
    EXPECT_EQ(diagnose_builds({"0.1 abc", "0.1 abc"}, hosts).found, "0.1 abc, on all 2 ranks");
    EXPECT_EQ(diagnose_builds({"0.1 abc"}, hosts).found, "0.1 abc");
    const auto two = diagnose_builds({"a", "a", "b"}, hosts);
    EXPECT_EQ(two.health, Health::error);
    EXPECT_EQ(two.found, "rank 0 on vm0 has a; rank 2 on vm2 has b");
    EXPECT_THAT(diagnose_builds({"a", "b", "b", "b", "b", "b"}, hosts).found,
                HasSubstr("rank 3 on vm3 has b and 2 more differ"));
}

TEST(Ranks, SayWhyMemoryIsNotShared) {
    EXPECT_EQ(diagnose_sharing(4, 2, "").health, Health::ok);
    EXPECT_THAT(diagnose_sharing(4, 2, "").found, HasSubstr("read each other's memory"));
    EXPECT_THAT(diagnose_sharing(2, 2, "").found, testing::Not(HasSubstr("memory")));
    EXPECT_EQ(diagnose_sharing(1, 1, "denied").health, Health::ok);
    const auto denied = diagnose_sharing(2, 1, "Permission denied");
    EXPECT_EQ(denied.health, Health::warning);
    EXPECT_THAT(denied.found, HasSubstr("(Permission denied)"));
}

}  // namespace
}  // namespace ziggurat::doctor
