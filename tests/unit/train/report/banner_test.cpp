#include "train/report/banner.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace ziggurat::train {
namespace {

TEST(Banner, AlignsLabelsAndContinuationLines) {
    const std::vector<BannerEntry> entries{
        {"ziggurat", "0.1.0"}, {"data", "two\nlines"}, {"empty", ""}, {"very long label", "x"}};
    EXPECT_EQ(banner(entries),
              "ziggurat  0.1.0\n"
              "data      two\n"
              "          lines\n"
              "very long label x\n");
}

TEST(DescribePlaces, JoinsNodesOfTheSameMakeUp) {
    const std::vector<RankPlacement> ranks{{"node1", {0, 1}, 2},
                                           {"node1", {2, 3}, 2},
                                           {"node2", {0, 1}, 2},
                                           {"node2", {2, 3}, 2},
                                           {"node3", {0}, 1}};
    EXPECT_EQ(describe_places(ranks),
              "node1 .. node2 (2 nodes): 2 ranks with 2 threads each on 4 cores\n"
              "node3: 1 rank with 1 thread each on 1 core");
}

TEST(OversubscriptionWarnings, AreSilentWhenThreadsFit) {
    EXPECT_TRUE(
        oversubscription_warnings(std::vector<RankPlacement>{{"a", {0, 1}, 1}, {"a", {0, 1}, 1}}).empty());
}

TEST(OversubscriptionWarnings, GiveTheExactRemedy) {
    const auto warnings =
        oversubscription_warnings(std::vector<RankPlacement>{{"a", {0, 1, 2, 3}, 4}, {"a", {0, 1, 2, 3}, 4}});
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_EQ(warnings[0],
              "a: oversubscribed, 8 threads on 4 cores; every step is slower. Set OMP_NUM_THREADS=2.");
}

TEST(OversubscriptionWarnings, SendRanksElsewhereWhenThereAreTooMany) {
    const RankPlacement bound{.host = "a", .cores = {0}, .threads = 1, .job_cores = 2};
    const auto warnings = oversubscription_warnings(std::vector<RankPlacement>{bound, bound});
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings[0].find("Start at most 1 rank here, or bind ranks to more cores"), std::string::npos)
        << warnings[0];
}

TEST(OversubscriptionWarnings, OfferNoOtherCoresWhereThereAreNone) {
    const RankPlacement unbound{.host = "a", .cores = {0, 1}, .threads = 1, .job_cores = 2};
    const auto warnings = oversubscription_warnings(std::vector<RankPlacement>(3, unbound));
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings[0].find("Start at most 2 ranks here."), std::string::npos) << warnings[0];
}

RankPlacement on(std::vector<int> whole_cores, int threads, int job_cores = 64) {
    auto cores = whole_cores;
    return {.host = "a",
            .cores = std::move(cores),
            .threads = threads,
            .whole_cores = std::move(whole_cores),
            .job_cores = job_cores};
}

std::vector<int> cores_from(int first, int last) {
    std::vector<int> cores;
    for (int core = first; core < last; ++core) {
        cores.push_back(core);
    }
    return cores;
}

TEST(IdleCoreNotes, SayHowARankIsLetOffItsCore) {
    const auto notes = idle_core_notes(std::vector{on({5}, 1)}, ThreadsBy::share_of_cores);
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_EQ(
        notes[0],
        "a: 1 rank uses 1 of 64 cores, to which the launcher has bound it. To use all: mpirun --bind-to "
        "none, srun --cpu-bind=none --cpus-per-task=64, or more ranks.");
    EXPECT_EQ(
        idle_core_notes(std::vector{on({5}, 1), on({6}, 1)}, ThreadsBy::environment).at(0),
        "a: 2 ranks use 2 of 64 cores, to which the launcher has bound them. To use all: mpirun --bind-to "
        "none, srun --cpu-bind=none --cpus-per-task=32, or more ranks.");
}

TEST(IdleCoreNotes, SayWhoAskedForFewThreads) {
    const std::vector two{on(cores_from(0, 64), 4), on(cores_from(0, 64), 4)};
    EXPECT_NE(idle_core_notes(two, ThreadsBy::environment)
                  .at(0)
                  .find("2 ranks use 8 of 64 cores, set by OMP_NUM_THREADS"),
              std::string::npos);
    EXPECT_NE(idle_core_notes(two, ThreadsBy::share_of_cores).at(0).find("the rank with the fewest cores"),
              std::string::npos);
    EXPECT_TRUE(idle_core_notes(two, ThreadsBy::request).empty()) << "it was asked for";
    EXPECT_TRUE(idle_core_notes(std::vector{on({5}, 1)}, ThreadsBy::request).empty());
}

TEST(IdleCoreNotes, AreSilentWhereNothingIsLeft) {
    const std::vector all{on(cores_from(0, 32), 32), on(cores_from(32, 64), 32)};
    EXPECT_TRUE(idle_core_notes(all, ThreadsBy::share_of_cores).empty());
    const std::vector three(3, on(cores_from(0, 64), 21));
    EXPECT_TRUE(idle_core_notes(three, ThreadsBy::share_of_cores).empty()) << "one core is no core for each";
    EXPECT_TRUE(idle_core_notes(std::vector{on({5}, 1, 0)}, ThreadsBy::share_of_cores).empty()) << "unknown";
    EXPECT_TRUE(idle_core_notes(std::vector{on(cores_from(0, 64), 2, 2)}, ThreadsBy::share_of_cores).empty())
        << "a control group, or Slurm, grants no more";
}

}  // namespace
}  // namespace ziggurat::train
